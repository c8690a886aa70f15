import java.util.Map;

/** One line of standard input, and when it arrived; its fields are checked when they are read. */
record Command(String type, Map<String, Object> fields, long arrived) {
    static final long MOST_TASKS = 1_000_000_000;
    private static final int SHOWN = 60; // characters of a line or type that an answer quotes

    /**
     * Reads a line.
     *
     * @throws IllegalArgumentException it is not a command
     */
    static Command of(String line, long arrived) {
        try {
            Map<String, Object> fields = Json.read(line);
            if (fields.get("type") instanceof String type) {
                return new Command(begin(type), fields, arrived);
            }
        } catch (IllegalArgumentException malformed) {
            // reported below, like a line without a type
        }
        throw new IllegalArgumentException(
                "%s is not a command; expected one flat JSON object such as {\"type\":\"stop\"}"
                        .formatted(Json.written(begin(line.strip()))));
    }

    private static String begin(String text) {
        return text.substring(0, Math.min(SHOWN, text.length()));
    }

    long whole(String key, long largest) {
        if (fields.get(key) instanceof Long value && value >= 0 && value <= largest) {
            return value;
        }
        throw refusal(key, "a whole number from 0 to %,d".formatted(largest));
    }

    boolean flag(String key) {
        if (fields.get(key) instanceof Boolean value) {
            return value;
        }
        throw refusal(key, "true or false");
    }

    String word(String key) {
        if (fields.get(key) instanceof String value) {
            return value;
        }
        throw refusal(key, "a string");
    }

    double number(String key, double least, double largest) {
        if (fields.get(key) instanceof Number value && value.doubleValue() >= least && value.doubleValue() <= largest) {
            return value.doubleValue();
        }
        throw refusal(key, "a number from %s to %,.0f".formatted(least, largest));
    }

    double numberAbove(String key, double bound, double largest) {
        if (fields.get(key) instanceof Number value && value.doubleValue() > bound && value.doubleValue() <= largest) {
            return value.doubleValue();
        }
        throw refusal(key, "a number above %s, up to %,.0f".formatted(bound, largest));
    }

    IllegalArgumentException refusal(String key, String expected) {
        return new IllegalArgumentException(
                "\"%s\" is %s; expected %s".formatted(key, Json.written(fields.get(key)), expected));
    }

    double secondsSince() {
        return (System.nanoTime() - arrived) / 1e9;
    }
}
