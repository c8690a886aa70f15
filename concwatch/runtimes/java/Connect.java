import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Holds a TCP connection, and sends and reads a line on it once, or again and again.
 *
 * <p>A {@link SocketChannel}, since an interrupt closes it in both kinds of threads, and a {@code Socket} only in virtual
 * ones.
 */
final class Connect implements Workload {
    private static final byte[] LINE = "ping\n".getBytes(StandardCharsets.US_ASCII);
    private static final Pattern URL = Pattern.compile("tcp://127\\.0\\.0\\.1:([1-9][0-9]{0,4})");
    private static final int MOST_ADDRESSES = 254;
    private static final int MOST_PORTS = 65_535;

    private final InetSocketAddress[] addresses; // from one to another there are about 28,000 ports
    private final Duration interval; // null: once
    private final AtomicInteger connections = new AtomicInteger();

    private Connect(InetSocketAddress[] addresses, Duration interval) {
        this.addresses = addresses;
        this.interval = interval;
    }

    /** @param interval how long after a line has been read the next one is sent; null if none is */
    static Connect of(Command command, Duration interval) {
        InetSocketAddress[] addresses = new InetSocketAddress[command.fields().containsKey("addresses")
                ? (int) command.whole("addresses", MOST_ADDRESSES) : 1];
        Matcher url = URL.matcher(String.valueOf(command.fields().get("url")));
        int port = url.matches() ? Integer.parseInt(url.group(1)) : 0;
        if (port < 1 || port > MOST_PORTS || addresses.length == 0) {
            throw new IllegalArgumentException("workload %s needs a \"url\" to connect to; expected tcp://127.0.0.1:PORT"
                    .formatted(Json.written(command.word("spec"))));
        }
        for (int i = 0; i < addresses.length; i++) {
            addresses[i] = new InetSocketAddress("127.0.0." + (1 + i), port);
        }
        return new Connect(addresses, interval);
    }

    @Override
    public void run() throws InterruptedException, IOException {
        try (SocketChannel channel = SocketChannel.open()) {
            channel.connect(addresses[Math.floorMod(connections.getAndIncrement(), addresses.length)]);
            ByteBuffer answer = ByteBuffer.allocate(LINE.length);
            while (true) {
                channel.write(ByteBuffer.wrap(LINE));
                while (answer.hasRemaining()) {
                    read(channel, answer);
                }
                answer.clear();
                if (interval == null) {
                    read(channel, answer); // returns when the server closes the connection
                    throw new EOFException("the server sent more than it was sent");
                }
                Thread.sleep(interval);
            }
        }
    }

    private static void read(SocketChannel channel, ByteBuffer into) throws IOException {
        if (channel.read(into) < 0) {
            throw new EOFException("the server closed the connection");
        }
    }
}
