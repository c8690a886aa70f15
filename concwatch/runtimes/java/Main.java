import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ThreadFactory;
import java.util.function.DoubleUnaryOperator;

/** A worker of concwatch whose tasks are Java's threads. It speaks the wire that concwatch/portable/protocol/wire.py specifies. */
final class Main {
    private static final ThreadFactory PLATFORM = Thread.ofPlatform().daemon().factory();
    private static final ThreadFactory VIRTUAL = Thread.ofVirtual().factory();

    private Main() {}

    public static void main(String[] args) {
        Locale.setDefault(Locale.ROOT); // numbers in messages do not depend on the locale
        String engine = args.length == 1 ? args[0] : "";
        boolean virtual = engine.equals("java-virtual");
        if (!virtual && !engine.equals("java-threads")) {
            System.err.println("usage: java ... Main ENGINE    (one of java-threads, java-virtual)");
            System.exit(2);
        }
        InputStream in = System.in;
        Wire wire = new Wire(new FileOutputStream(FileDescriptor.out));
        System.setIn(InputStream.nullInputStream());
        System.setOut(System.err);

        ThreadFactory factory = virtual ? VIRTUAL : PLATFORM;
        int crowd = virtual ? 4096 : 16; // platform threads that can run take their share of the CPU from the worker
        WarmUp.run(factory, crowd, virtual ? 1000 : 100);
        Metronome metronome = new Metronome();
        DoubleUnaryOperator lag = late -> late;
        if (virtual) {
            metronome.start();
            lag = late -> metronome.worst();
        }
        Counts counts = new Counts();
        Reporter reporter = new Reporter(wire, counts, lag);
        Worker worker = new Worker(wire, factory, crowd, counts, reporter);
        wire.send("ready",
                "protocol", 1,
                "engine", engine,
                "runtime", "Java " + System.getProperty("java.version"),
                "flags", flags(virtual),
                "pid", ProcessHandle.current().pid(),
                "can", List.of("trim", "burst"),
                "workloads", Workload.WORDS);
        PLATFORM.newThread(reporter).start();
        PLATFORM.newThread(() -> wire.listen(in, worker::take)).start();
        while (true) {
            worker.turn();
        }
    }

    private static List<String> flags(boolean virtual) {
        List<String> flags = new ArrayList<>();
        flags.add("G1");
        flags.add("heap at most %,d MiB".formatted(Heap.most() >> 20));
        if (virtual) {
            int cpus = Runtime.getRuntime().availableProcessors();
            flags.add("carriers " + Integer.getInteger("jdk.virtualThreadScheduler.parallelism", cpus));
        }
        return flags;
    }
}
