/** Holds platform threads. */
class Platform {
    public static void main(String[] args) throws Exception {
        Bare.run(Thread.ofPlatform().daemon().factory(), 100, args);
    }
}
