import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicLong;

/** Holds sleeping threads, each of which can be interrupted; one that ends starts the next one in its place. */
class Bare {
    private final ThreadFactory factory;
    private final Thread[] threads;
    private final CountDownLatch begun;
    private final AtomicLong ended = new AtomicLong();
    private final double least;
    private final double to;

    Bare(ThreadFactory factory, int count, double least, double to) {
        this.factory = factory;
        threads = new Thread[count];
        begun = new CountDownLatch(count);
        this.least = least;
        this.to = to;
    }

    /** Arguments: how many tasks, and from how many seconds to how many they sleep. */
    static void run(ThreadFactory factory, int warmUp, String[] args) throws IOException, InterruptedException {
        warmUp(factory, warmUp);
        Bare bare = new Bare(
                factory, Integer.parseInt(args[0]), Double.parseDouble(args[1]), Double.parseDouble(args[2]));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("idle");
        in.readLine();
        long began = System.nanoTime();
        bare.startAll();
        System.out.println("live " + (System.nanoTime() - began) / 1e9);
        while (in.readLine() != null) {
            System.out.println("ended " + bare.ended);
        }
        Runtime.getRuntime().halt(0);
    }

    /** Warms up, as any Java benchmark does; compiled frames also make virtual threads smaller. */
    private static void warmUp(ThreadFactory factory, int count) throws InterruptedException {
        for (int round = 0; round < 10; round++) {
            Bare bare = new Bare(factory, count, 3600, 3600);
            bare.startAll();
            for (Thread thread : bare.threads) {
                thread.interrupt();
                thread.join();
            }
        }
        System.gc();
        Thread.sleep(500); // G1 returns memory a moment later
    }

    private void startAll() throws InterruptedException {
        for (int i = 0; i < threads.length; i++) {
            start(i);
        }
        begun.await();
    }

    private void start(int i) {
        threads[i] = factory.newThread(() -> live(i));
        threads[i].start();
    }

    private void live(int i) {
        begun.countDown();
        try {
            Thread.sleep(Duration.ofNanos((long) (1e9 * (least + (to - least) * i / threads.length))));
        } catch (InterruptedException cancelled) {
            return;
        }
        ended.incrementAndGet();
        start(i);
    }
}
