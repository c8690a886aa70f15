/** Holds virtual threads. */
class Virtual {
    public static void main(String[] args) throws Exception {
        Bare.run(Thread.ofVirtual().factory(), 1000, args);
    }
}
