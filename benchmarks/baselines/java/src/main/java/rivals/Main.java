package rivals;

import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Runs a query of a system over the events of a file: its values, and the time of each run. */
public final class Main {
  private Main() {}

  /** Arguments: the system, the query, the file of events, the file of values, how many runs. */
  public static void main(String[] words) throws Exception {
    Event[] events = Event.read(Path.of(words[2]));
    List<Long> times = new ArrayList<>();
    List<Object> values = new ArrayList<>();
    for (int run = 0; run < Integer.parseInt(words[4]); run++) {
      values = new ArrayList<>();
      long taken =
          switch (words[0]) {
            case "RxJava" -> Reactive.run(words[1], events, values);
            case "Esper" -> Esper.run(words[1], events, values);
            default -> Flink.run(words[1], events, values);
          };
      times.add(taken);
    }
    Files.write(Path.of(words[3]), values.stream().map(Main::written).collect(Collectors.toList()));
    System.out.println(times.stream().map(String::valueOf).collect(Collectors.joining(" ")));
  }

  /** The processor time of this thread in nanoseconds. */
  static long clock() {
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
  }

  /** A value as JSON: arrays are tuples, maps lists of pairs. */
  static String written(Object value) {
    if (value instanceof Map<?, ?> map) {
      return map.entrySet().stream()
          .map(pair -> "[" + written(pair.getKey()) + "," + written(pair.getValue()) + "]")
          .collect(Collectors.joining(",", "[", "]"));
    }
    if (value instanceof Object[] parts) {
      return java.util.Arrays.stream(parts)
          .map(Main::written)
          .collect(Collectors.joining(",", "[", "]"));
    }
    return String.valueOf(value);
  }
}
