import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;

/** Reports and commands as concwatch/portable/protocol/wire.py specifies them. */
final class Wire {
    private static final int LONGEST_LINE = 1 << 20;
    private static final int LONGEST_MESSAGE = 1000;

    private final OutputStream reports;

    Wire(OutputStream reports) {
        this.reports = reports;
    }

    /** Writes one report, given its type and then its keys and values in turn. */
    void send(String type, Object... pairs) {
        String line = "{\"type\":\"" + type + "\"," + Json.write(pairs).substring(1) + "\n";
        byte[] bytes = line.getBytes(StandardCharsets.UTF_8);
        synchronized (reports) {
            try {
                reports.write(bytes);
            } catch (IOException gone) {
                exit(); // the reader is gone
            }
        }
    }

    void refuse(String command, String why) {
        String message = why.strip().replaceAll("\\s+", " ");
        message = message.substring(0, Math.min(LONGEST_MESSAGE, message.length()));
        send("error", "command", command, "message", message, "detail", null);
    }

    /** Passes every command on; exits the process at {@code stop} and when the input ends. */
    void listen(InputStream in, Consumer<Command> take) {
        InputStream commands = new BufferedInputStream(in);
        try {
            for (String line = line(commands); line != null; line = line(commands)) {
                if (line.isBlank()) {
                    continue;
                }
                try {
                    Command command = Command.of(line, System.nanoTime());
                    if (command.type().equals("stop")) {
                        break;
                    }
                    take.accept(command);
                } catch (IllegalArgumentException malformed) {
                    refuse(null, malformed.getMessage());
                }
            }
        } catch (IOException broken) {
            // treated as the end of the input
        }
        exit();
    }

    /** Reads a line, but only the beginning of one that is too long, which is then no command; null at the end. */
    private static String line(InputStream commands) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        int next = commands.read();
        for (; next != '\n' && next != -1; next = commands.read()) {
            if (line.size() <= LONGEST_LINE) {
                line.write(next);
            }
        }
        if (next == -1 && line.size() == 0) {
            return null;
        }
        String text = line.toString(StandardCharsets.UTF_8);
        return line.size() <= LONGEST_LINE ? text : text.substring(0, LONGEST_MESSAGE);
    }

    /** Exits the process at once, whatever the tasks do. */
    static void exit() {
        Runtime.getRuntime().halt(0);
    }
}
