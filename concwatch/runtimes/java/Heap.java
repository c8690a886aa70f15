import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;

/** How full the heap is, and what its collection took. */
final class Heap {
    private static final double HIGH = 0.8; // G1 needs the rest to move what lives
    private static final double FULL = 0.75; // a collection that brings it no lower would soon be followed by another
    private static final Runtime RUNTIME = Runtime.getRuntime();
    private static final List<GarbageCollectorMXBean> COLLECTORS = ManagementFactory.getGarbageCollectorMXBeans();

    private Heap() {}

    static long used() {
        long free = RUNTIME.freeMemory(); // first: a heap that grows between the two would seem to hold less than nothing
        return Math.max(0, RUNTIME.totalMemory() - free);
    }

    static long most() {
        return RUNTIME.maxMemory();
    }

    static double collectionSeconds() {
        return COLLECTORS.stream().mapToLong(GarbageCollectorMXBean::getCollectionTime).sum() / 1e3;
    }

    /** Whether even a collection leaves hardly any room: growth ends here, before the JVM does. */
    static boolean full() {
        if (used() < HIGH * most()) {
            return false;
        }
        System.gc();
        return used() > FULL * most();
    }
}
