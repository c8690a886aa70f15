// As published: N operating system threads that sleep ten seconds.
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

class SleepThreads {
    public static void main(String[] args) throws InterruptedException {
        int numTasks = Integer.parseInt(args[0]);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < numTasks; i++) {
            Thread thread = new Thread(() -> {
                try {
                    Thread.sleep(Duration.ofSeconds(10));
                } catch (InterruptedException e) {
                }
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
