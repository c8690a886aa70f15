using System;
using System.IO;
using System.Runtime.InteropServices;
using System.Text;
using Microsoft.Win32.SafeHandles;

namespace Concwatch
{
    /// <summary>The wire: JSON, one message a line. What tasks print goes to standard error.</summary>
    sealed class Wire
    {
        const int LongestLine = 1 << 20;

        readonly Stream input = Console.OpenStandardInput();
        readonly Stream output;

        public Wire()
        {
            // .NET's own stream hides that the reader is gone, but Mono must have opened it first.
            Console.OpenStandardOutput();
            output = new FileStream(new SafeFileHandle((IntPtr)1, false), FileAccess.Write, 1);
            Console.SetIn(TextReader.Null);
            Console.SetOut(Console.Error);
        }

        public void Send(Report report)
        {
            byte[] line = report.ToLine();
            lock (output)
            {
                try
                {
                    output.Write(line, 0, line.Length);
                    output.Flush();
                }
                catch (IOException)
                {
                    Leave(0); // the reader is gone
                }
            }
        }

        public void Refuse(string command, string message, string detail = null)
        {
            string line = string.Join(" ", message.Split((char[])null, StringSplitOptions.RemoveEmptyEntries));
            Send(new Report("error")
                .With("command", command)
                .With("message", line.Length > 1000 ? line.Substring(0, 1000) : line)
                .With("detail", detail));
        }

        /// <summary>Passes every command on; exits the process when the input ends.</summary>
        public void Listen(Action<Command> take)
        {
            var buffer = new byte[1 << 16];
            var line = new MemoryStream();
            int count;
            while ((count = input.Read(buffer, 0, buffer.Length)) > 0)
            {
                for (int from = 0, end; from < count; from = end)
                {
                    int newline = Array.IndexOf(buffer, (byte)'\n', from, count - from);
                    end = newline < 0 ? count : newline + 1;
                    // Of a line that is too long, only enough is kept to detect that.
                    line.Write(buffer, from, (int)Math.Min(end - from, LongestLine + 1 - line.Length));
                    if (newline >= 0)
                    {
                        Take(line, take);
                        line.SetLength(0);
                    }
                }
            }
            Take(line, take);
            Leave(0);
        }

        /// <summary>Exits the process at once. Mono's own exit has been seen to hang.</summary>
        [DllImport("libc", EntryPoint = "_exit")]
        static extern void Leave(int status);

        void Take(MemoryStream line, Action<Command> take)
        {
            string text = Encoding.UTF8.GetString(line.GetBuffer(), 0, (int)line.Length).Trim();
            if (text == "")
            {
                return;
            }
            try
            {
                if (line.Length > LongestLine)
                {
                    throw new FormatException();
                }
                var command = new Command(text, Clock.Now);
                if (command.Type == "stop")
                {
                    Leave(0);
                }
                take(command);
            }
            catch (Exception error) when (error is FormatException || error is OverflowException)
            {
                Refuse(null, $"\"{Command.Short(text)}\" is not a command; expected one flat JSON object");
            }
        }
    }
}
