// The same work as published: each virtual thread computes, then sleeps 5 ms holding its own lock.
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

class PinnedVirtual {
    static volatile double sink;

    static void compute() {
        double sum = 0;
        for (int i = 0; i < 10_000; i++) {
            sum += Math.sin(i) * Math.cos(i);
        }
        sink = sum;
    }

    public static void main(String[] args) throws InterruptedException {
        int count = Integer.parseInt(args[0]);
        List<Thread> threads = new ArrayList<>();
        long start = System.nanoTime();
        for (int i = 0; i < count; i++) {
            threads.add(Thread.startVirtualThread(() -> {
                compute();
                synchronized (new Object()) {
                    try {
                        Thread.sleep(Duration.ofMillis(5));
                    } catch (InterruptedException e) {
                    }
                }
            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println((System.nanoTime() - start) / 1e9);
    }
}
