import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;

/** How full the heap is, and the seconds spent collecting. */
final class Heap {
    private static final double HIGH = 0.8; // G1 needs the rest to move live objects
    private static final double FULL = 0.75; // after a collection; above it, the next one would follow soon
    private static final Runtime RUNTIME = Runtime.getRuntime();
    private static final List<GarbageCollectorMXBean> COLLECTORS = ManagementFactory.getGarbageCollectorMXBeans();

    private Heap() {}

    static long used() {
        long free = RUNTIME.freeMemory(); // first: otherwise a heap that grows meanwhile would seem negative
        return Math.max(0, RUNTIME.totalMemory() - free);
    }

    static long most() {
        return RUNTIME.maxMemory();
    }

    static double collectionSeconds() {
        return COLLECTORS.stream().mapToLong(GarbageCollectorMXBean::getCollectionTime).sum() / 1e3;
    }

    /** Whether the heap is nearly full even after a collection: growth must stop before the JVM exits. */
    static boolean full() {
        if (used() < HIGH * most()) {
            return false;
        }
        System.gc();
        return used() > FULL * most();
    }
}
