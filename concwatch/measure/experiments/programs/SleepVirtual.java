// As published: N virtual threads that sleep ten seconds.
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

class SleepVirtual {
    public static void main(String[] args) throws InterruptedException {
        int numTasks = Integer.parseInt(args[0]);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < numTasks; i++) {
            Thread thread = Thread.startVirtualThread(() -> {
                try {
                    Thread.sleep(Duration.ofSeconds(10));
                } catch (InterruptedException e) {
                }
            });
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
