import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** Starts as many sleeping platform threads as the argument states, each of which can be interrupted. */
class Platform {
    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[0]);
        warmUp();

        long before = Memory.resident();
        long began = System.nanoTime();
        List<Thread> threads = start(count);
        Memory.print(began, before);

        threads.getLast().interrupt();
        Runtime.getRuntime().halt(0);
    }

    /** Warms up, as any Java benchmark does. */
    private static void warmUp() throws InterruptedException {
        for (int round = 0; round < 10; round++) {
            List<Thread> threads = start(100);
            threads.forEach(Thread::interrupt);
            for (Thread thread : threads) {
                thread.join();
            }
        }
        System.gc();
        Thread.sleep(500); // G1 returns memory a moment later
    }

    private static List<Thread> start(int count) throws InterruptedException {
        CountDownLatch live = new CountDownLatch(count);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            threads.add(Thread.ofPlatform().start(() -> {
                live.countDown();
                try {
                    Thread.sleep(Duration.ofHours(1));
                } catch (InterruptedException cancelled) {
                    // cancelled
                }
            }));
        }
        live.await();
        return threads;
    }
}
