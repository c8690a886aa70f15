import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** As many sleeping virtual threads as the argument says, each of which can be interrupted. */
class Virtual {
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

    /** As any benchmark of Java does; here it also makes threads smaller, whose frames are then compiled ones. */
    private static void warmUp() throws InterruptedException {
        for (int round = 0; round < 10; round++) {
            List<Thread> threads = start(1000);
            threads.forEach(Thread::interrupt);
            for (Thread thread : threads) {
                thread.join();
            }
        }
        System.gc();
        Thread.sleep(500); // G1 gives memory back a moment later
    }

    private static List<Thread> start(int count) throws InterruptedException {
        CountDownLatch live = new CountDownLatch(count);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            threads.add(Thread.startVirtualThread(() -> {
                live.countDown();
                try {
                    Thread.sleep(Duration.ofHours(1));
                } catch (InterruptedException cancelled) {
                    // it ends
                }
            }));
        }
        live.await();
        return threads;
    }
}
