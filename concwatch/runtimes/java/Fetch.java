import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;

/** Fetches a page once, on a connection of its own, with Java's own client, which all tasks share. */
record Fetch(HttpClient client, HttpRequest request) implements Workload {
    private static final int OK = 200;
    private static final int SIZE = 400_000; // bytes: a page of 100 KB, the buffers for it and garbage

    static Fetch of(Command command) {
        String url = command.fields().get("url") == null ? "" : command.word("url");
        if (!url.startsWith("http://") && !url.startsWith("https://")) {
            throw new IllegalArgumentException("workload %s needs a \"url\" to fetch; expected http://…"
                    .formatted(Json.written(command.word("spec"))));
        }
        System.setProperty("jdk.httpclient.keepalive.timeout", "0"); // no task uses the connection of another one
        try {
            HttpClient client = HttpClient.newBuilder()
                    .version(HttpClient.Version.HTTP_1_1)
                    .proxy(HttpClient.Builder.NO_PROXY)
                    .build();
            return new Fetch(client, HttpRequest.newBuilder(URI.create(url)).build());
        } catch (UncheckedIOException refused) {
            throw new IllegalArgumentException("the HTTP client cannot start: " + refused.getMessage(), refused);
        }
    }

    @Override
    public int size() {
        return SIZE;
    }

    @Override
    public void run() throws InterruptedException, IOException {
        int status = client.send(request, BodyHandlers.ofByteArray()).statusCode(); // fails if the body is truncated
        if (status != OK) {
            throw new IOException("%s answered %d, not %d".formatted(request.uri(), status, OK));
        }
    }
}
