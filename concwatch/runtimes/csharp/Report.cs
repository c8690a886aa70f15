using System.Collections.Generic;
using System.Globalization;
using System.Text;

namespace Concwatch
{
    /// <summary>One report as JSON. Not every .NET that this runs on has a JSON writer.</summary>
    sealed class Report
    {
        readonly StringBuilder text = new StringBuilder("{");

        public Report(string type) => With("type", type);

        public Report With(string key, string value)
        {
            Key(key);
            Quote(value);
            return this;
        }

        public Report With(string key, long value)
        {
            Key(key).Append(value.ToString(CultureInfo.InvariantCulture));
            return this;
        }

        public Report WithNull(string key)
        {
            Key(key).Append("null");
            return this;
        }

        public Report With(string key, double value)
        {
            Key(key).Append(value.ToString("0.#########", CultureInfo.InvariantCulture));
            return this;
        }

        public Report With(string key, IEnumerable<string> values)
        {
            Key(key).Append('[');
            string comma = "";
            foreach (string value in values)
            {
                text.Append(comma);
                Quote(value);
                comma = ",";
            }
            text.Append(']');
            return this;
        }

        public byte[] ToLine() => Encoding.UTF8.GetBytes(text + "}\n");

        StringBuilder Key(string key)
        {
            if (text.Length > 1)
            {
                text.Append(',');
            }
            Quote(key);
            return text.Append(':');
        }

        void Quote(string value)
        {
            if (value == null)
            {
                text.Append("null");
                return;
            }
            text.Append('"');
            foreach (char c in value)
            {
                if (c == '"' || c == '\\')
                {
                    text.Append('\\').Append(c);
                }
                else if (c < ' ' || c > '~')
                {
                    text.Append("\\u").Append(((int)c).ToString("x4"));
                }
                else
                {
                    text.Append(c);
                }
            }
            text.Append('"');
        }
    }
}
