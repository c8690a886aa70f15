import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Map;

/** Tasks created without a pause and run to their end, with the time that takes. */
final class Burst {
    private static final OperatingSystemMXBean SYSTEM =
            ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

    private final long began = System.nanoTime();
    private final long beganCpu = SYSTEM.getProcessCpuTime();
    private final long beganCpuHere = Workload.THREADS.getCurrentThreadCpuTime();
    private long tasks;
    private double createSeconds;
    private double createCpu;

    private Burst(long tasks) {
        this.tasks = tasks;
    }

    static Burst of(Command command) {
        long tasks = command.whole("tasks", Command.MOST_TASKS);
        Map<String, Object> fields = command.fields();
        if (!List.of(0L, 1L).contains(fields.getOrDefault("chunks", 1L))
                || !fields.getOrDefault("older", 0L).equals(0L)
                || fields.get("read_after") != null) {
            throw new IllegalArgumentException("a burst here has one part, none that are older, and no reading");
        }
        return new Burst(tasks);
    }

    long tasks() {
        return tasks;
    }

    /** Records how many have been created, which may be fewer at a wall. */
    void created(long count) {
        tasks = count;
        createSeconds = seconds();
        createCpu = cpu();
    }

    void report(Wire wire) {
        wire.send("burst",
                "tasks", tasks,
                "create_seconds", createSeconds,
                "create_cpu", createCpu,
                "seconds", seconds(),
                "cpu", cpu(),
                "live", null,
                "traced", null);
    }

    private double seconds() {
        return (System.nanoTime() - began) / 1e9;
    }

    /** CPU time of the process, which the system counts in hundredths; at least that of this thread. */
    private double cpu() {
        long all = SYSTEM.getProcessCpuTime() - beganCpu;
        return Math.max(all, Workload.THREADS.getCurrentThreadCpuTime() - beganCpuHere) / 1e9;
    }
}
