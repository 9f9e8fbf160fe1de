import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Prints the headline of each new event: {@code java Consume broker:9092}. Needs kafka-clients; use a JSON library of yours. */
public class Consume {
    private static final Pattern HEADLINE = Pattern.compile("\"headline\":\"((?:[^\"\\\\]|\\\\.)*)\"");

    public static void main(String[] arguments) {
        Map<String, Object> settings = Map.of(
                "bootstrap.servers", arguments[0],
                "group.id", "example-java",
                "isolation.level", "read_committed", // each update exactly once, whatever happens to workers
                "auto.offset.reset", "earliest",
                "key.deserializer", StringDeserializer.class,
                "value.deserializer", StringDeserializer.class);
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings)) {
            consumer.subscribe(List.of(arguments.length > 1 ? arguments[1] : "newsburst.events"));
            while (true) {
                consumer.poll(Duration.ofSeconds(1)).forEach(message -> {
                    Matcher headline = HEADLINE.matcher(message.value());
                    if (message.value().contains("\"state\":\"started\"") && headline.find()) {
                        System.out.println(headline.group(1));
                    }
                });
            }
        }
    }
}
