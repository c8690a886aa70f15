using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

namespace Concwatch
{
    /// <summary>Parses a command: one object of strings, numbers, true, false and null.</summary>
    struct FlatJson
    {
        const string Space = " \t\r\n";

        readonly string text;
        int at;

        FlatJson(string text)
        {
            this.text = text;
            at = 0;
        }

        /// <summary>Returns the fields: string, long, double, bool or null each.</summary>
        /// <exception cref="FormatException">It is not such an object.</exception>
        public static Dictionary<string, object> Read(string text) => new FlatJson(text).ReadObject();

        Dictionary<string, object> ReadObject()
        {
            var fields = new Dictionary<string, object>();
            SkipSpace();
            Expect('{');
            while (Next() != '}')
            {
                if (fields.Count > 0)
                {
                    Expect(',');
                }
                string key = ReadString();
                Expect(':');
                fields[key] = Next() == '"' ? ReadString() : ReadWord();
            }
            Expect('}');
            return at == text.Length ? fields : throw new FormatException();
        }

        char Next() => at < text.Length ? text[at] : throw new FormatException();

        void SkipSpace()
        {
            while (at < text.Length && Space.IndexOf(text[at]) >= 0)
            {
                at++;
            }
        }

        void Expect(char c)
        {
            if (Next() != c)
            {
                throw new FormatException();
            }
            at++;
            SkipSpace();
        }

        string ReadString()
        {
            var value = new StringBuilder();
            if (Next() != '"')
            {
                throw new FormatException();
            }
            for (at++; Next() != '"'; at++)
            {
                value.Append(Next() == '\\' ? ReadEscape() : Next() >= ' ' ? Next() : throw new FormatException());
            }
            Expect('"');
            return value.ToString();
        }

        char ReadEscape()
        {
            at++;
            if (Next() == 'u' && at + 4 < text.Length)
            {
                at += 4;
                return (char)ushort.Parse(
                    text.Substring(at - 3, 4), NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture);
            }
            int which = "\"\\/bfnrt".IndexOf(Next());
            return which >= 0 ? "\"\\/\b\f\n\r\t"[which] : throw new FormatException();
        }

        object ReadWord()
        {
            int end = text.IndexOfAny(",} \t\r\n".ToCharArray(), at);
            string word = end < 0 ? throw new FormatException() : text.Substring(at, end - at);
            at = end;
            SkipSpace();
            switch (word)
            {
                case "true": return true;
                case "false": return false;
                case "null": return null;
            }
            if (long.TryParse(word, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long whole))
            {
                return whole;
            }
            return double.Parse(
                word,
                NumberStyles.AllowLeadingSign | NumberStyles.AllowDecimalPoint | NumberStyles.AllowExponent,
                CultureInfo.InvariantCulture);
        }
    }
}
