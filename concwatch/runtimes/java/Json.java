import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The JSON that the wire needs: reads flat objects, and writes flat objects with lists. */
final class Json {
    private static final Pattern NUMBER = Pattern.compile("-?(?:0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?");
    private static final String SPACE = " \t\r\n";
    private static final String ESCAPES = "\"\\/bfnrt";
    private static final String ESCAPED = "\"\\/\b\f\n\r\t";

    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /**
     * Reads {@code {"key":value,...}} whose values are strings, numbers, true, false or null.
     *
     * @throws IllegalArgumentException it is something else
     */
    static Map<String, Object> read(String text) {
        try {
            return new Json(text.strip()).object();
        } catch (IndexOutOfBoundsException cutShort) {
            throw new IllegalArgumentException("it ends too early", cutShort);
        }
    }

    private Map<String, Object> object() {
        Map<String, Object> fields = new LinkedHashMap<>();
        expect('{');
        while (text.charAt(at) != '}') {
            if (!fields.isEmpty()) {
                expect(',');
            }
            String key = string();
            expect(':');
            fields.put(key, value());
        }
        if (at + 1 != text.length()) {
            throw new IllegalArgumentException("something follows the object");
        }
        return fields;
    }

    private void expect(char wanted) {
        if (text.charAt(at++) != wanted) {
            throw new IllegalArgumentException("expected " + wanted);
        }
        skipSpace();
    }

    private void skipSpace() {
        while (SPACE.indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private Object value() {
        if (text.charAt(at) == '"') {
            return string();
        }
        int start = at;
        while (",}".indexOf(text.charAt(at)) < 0 && SPACE.indexOf(text.charAt(at)) < 0) {
            at++;
        }
        String word = text.substring(start, at);
        skipSpace();
        return switch (word) {
            case "true" -> true;
            case "false" -> false;
            case "null" -> null;
            default -> number(word);
        };
    }

    private static Number number(String word) {
        Matcher parts = NUMBER.matcher(word);
        if (!parts.matches()) {
            throw new IllegalArgumentException("not a value: " + word);
        }
        boolean whole = parts.group(1) == null && parts.group(2) == null && word.length() < 19;
        return whole ? (Number) Long.valueOf(word) : (Number) Double.valueOf(word);
    }

    private String string() {
        StringBuilder string = new StringBuilder();
        if (text.charAt(at) != '"') {
            throw new IllegalArgumentException("expected a string");
        }
        for (at++; text.charAt(at) != '"'; at++) {
            char next = text.charAt(at);
            if (next < ' ') {
                throw new IllegalArgumentException("a control character in a string");
            }
            string.append(next == '\\' ? escape() : next);
        }
        at++;
        skipSpace();
        return string.toString();
    }

    private char escape() {
        char letter = text.charAt(++at);
        if (letter == 'u') {
            at += 4;
            return (char) HexFormat.fromHexDigits(text, at - 3, at + 1);
        }
        return ESCAPED.charAt(ESCAPES.indexOf(letter));
    }

    /** Writes an object from its keys and values, one after the other. */
    static String write(Object... pairs) {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < pairs.length; i += 2) {
            out.append(i == 0 ? "{" : ",").append(quoted((String) pairs[i])).append(':').append(written(pairs[i + 1]));
        }
        return out.append('}').toString();
    }

    /** Writes a value: null, a boolean, a finite number, a string, or a list of these. */
    static String written(Object value) {
        return switch (value) {
            case String string -> quoted(string);
            case List<?> list -> {
                StringJoiner joined = new StringJoiner(",", "[", "]");
                for (Object element : list) { // a stream would cost 0.3 MB of idle memory
                    joined.add(written(element));
                }
                yield joined.toString();
            }
            case null, default -> String.valueOf(value);
        };
    }

    private static String quoted(String string) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : string.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ' || c == 0x7f) {
                out.append("\\u00").append(HexFormat.of().toHexDigits((byte) c));
            } else {
                out.append(c);
            }
        }
        return out.append('"').toString();
    }
}
