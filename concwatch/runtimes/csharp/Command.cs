using System;
using System.Collections.Generic;
using System.Globalization;

namespace Concwatch
{
    /// <summary>Why a command is invalid: one line for the user.</summary>
    sealed class RefusedException : Exception
    {
        public RefusedException(string message) : base(message)
        {
        }
    }

    /// <summary>One line of input, whose fields are checked when they are read.</summary>
    sealed class Command
    {
        readonly Dictionary<string, object> fields;

        public Command(string line, double arrived)
        {
            Arrived = arrived;
            fields = FlatJson.Read(line);
            Type = Value("type") as string ?? throw new FormatException();
        }

        public string Type { get; }
        public double Arrived { get; }

        public object Value(string key) => fields.TryGetValue(key, out object value) ? value : null;

        public long Whole(string key, long most) =>
            Value(key) is long value && value >= 0 && value <= most
                ? value
                : throw Wrong(key, "a whole number from 0 to " + most.ToString("N0", CultureInfo.InvariantCulture));

        public double Number(string key, double least, double most, string what)
        {
            double value = Value(key) is long whole ? whole : Value(key) as double? ?? double.NaN;
            return value >= least && value <= most
                ? value
                : throw Wrong(key, $"{what} from {Grouped(least)} to {Grouped(most)}");
        }

        public double NumberAbove(string key, double bound, double most, string what)
        {
            double value = Number(key, bound, most, what);
            return value > bound ? value : throw Wrong(key, $"{what} above {Grouped(bound)}");
        }

        public bool Flag(string key) => Value(key) as bool? ?? throw Wrong(key, "true or false");

        public string Word(string key) => Value(key) as string ?? throw Wrong(key, "a string");

        RefusedException Wrong(string key, string expected)
        {
            object value = Value(key);
            string shown = value is string text ? $"\"{Short(text)}\""
                : value is bool flag ? (flag ? "true" : "false")
                : Convert.ToString(value ?? "null", CultureInfo.InvariantCulture);
            return new RefusedException($"\"{key}\" is {shown}; expected {expected}");
        }

        public static string Short(string text) => text.Length > 60 ? text.Substring(0, 60) : text;

        static string Grouped(double number) => number.ToString("#,##0.##", CultureInfo.InvariantCulture);
    }
}
