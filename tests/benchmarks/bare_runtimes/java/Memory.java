import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Memory figures of this process, from the system. */
class Memory {
    private static final long PAGE = 4096;

    static long resident() throws IOException {
        return Long.parseLong(Files.readString(Path.of("/proc/self/statm")).split(" ")[1]) * PAGE;
    }

    static void print(long began, long before) throws IOException {
        double seconds = (System.nanoTime() - began) / 1e9;
        System.out.printf("{\"seconds\": %s, \"rss_before\": %d, \"rss\": %d}%n", seconds, before, resident());
    }
}
