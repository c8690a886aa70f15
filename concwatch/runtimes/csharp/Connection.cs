using System;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Concwatch
{
    /// <summary>The workload connect: tasks that hold a TCP connection, and send and read a line on it.</summary>
    sealed class Connection
    {
        const string Scheme = "tcp://127.0.0.1:";
        const int MostAddresses = 254;

        static readonly ArraySegment<byte> Line = new ArraySegment<byte>(Encoding.ASCII.GetBytes("ping\n"));
        static readonly Action<object> Interrupt = ShutDown;

        readonly IPEndPoint[] addresses; // from one to another there are about 28,000 ports
        readonly TimeSpan? interval; // null: once
        int next;

        Connection(IPEndPoint[] addresses, TimeSpan? interval)
        {
            this.addresses = addresses;
            this.interval = interval;
        }

        /// <summary>Returns what each task does.</summary>
        /// <param name="interval">The time from reading a line to sending the next one; null if none follows.</param>
        public static Body Read(Command command, TimeSpan? interval)
        {
            long count = command.Value("addresses") == null ? 1 : command.Whole("addresses", MostAddresses);
            string url = command.Value("url") as string ?? "";
            string digits = url.StartsWith(Scheme, StringComparison.Ordinal) ? url.Substring(Scheme.Length) : "";
            bool valid = ushort.TryParse(digits, NumberStyles.None, CultureInfo.InvariantCulture, out ushort port);
            if (!valid || port == 0 || count == 0)
            {
                throw new RefusedException(
                    $"workload \"{Command.Short(command.Word("spec"))}\" needs a \"url\" to connect to;"
                    + $" expected {Scheme}PORT");
            }
            OpenFiles.RaiseLimit();
            var addresses = new IPEndPoint[count];
            for (byte i = 0; i < count; i++)
            {
                addresses[i] = new IPEndPoint(new IPAddress(new byte[] { 127, 0, 0, (byte)(1 + i) }), port);
            }
            return new Connection(addresses, interval).HoldAsync;
        }

        async Task HoldAsync(TimeSpan length, CancellationToken token)
        {
            using (var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp))
            using (token.Register(Interrupt, socket))
            {
                try
                {
                    // Only the worker's own thread starts tasks.
                    await socket.ConnectAsync(addresses[next++ % addresses.Length]);
                    token.ThrowIfCancellationRequested(); // a socket that is not connected is not shut down
                    var answer = new byte[Line.Count];
                    while (true)
                    {
                        await socket.SendAsync(Line, SocketFlags.None);
                        // After the answer, a byte that never comes: it returns when the server closes the connection.
                        int wanted = Line.Count + (interval == null ? 1 : 0);
                        for (int had = 0; had < wanted;)
                        {
                            var rest = new ArraySegment<byte>(answer, 0, Math.Min(answer.Length, wanted - had));
                            int received = await socket.ReceiveAsync(rest, SocketFlags.None);
                            had += received;
                            if (received == 0)
                            {
                                throw new SocketException((int)SocketError.ConnectionReset);
                            }
                        }
                        await Task.Delay(interval ?? Timeout.InfiniteTimeSpan, token);
                    }
                }
                catch (Exception) when (token.IsCancellationRequested)
                {
                    // Cancelled, perhaps within Cancel() on the worker's own thread. There, 10,000 sockets took half a
                    // minute: Mono waits for its thread that polls all sockets before it closes one.
                    await Task.Yield();
                }
            }
        }

        /// <summary>Ends what a task waits for; disposing the socket would too, but see above.</summary>
        static void ShutDown(object socket)
        {
            try
            {
                ((Socket)socket).Shutdown(SocketShutdown.Both);
            }
            catch (SocketException)
            {
                // It is not connected yet, or its server has closed the connection.
            }
        }
    }
}
