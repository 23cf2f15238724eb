package rivals;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.ReduceFunction;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeHint;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.LocalStreamEnvironment;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.SinkFunction;
import org.apache.flink.streaming.api.functions.source.SourceFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessAllWindowFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/**
 * StreamQRE's queries in Flink's DataStream API, at parallelism 1, with its own windows.
 *
 * <p>A tick ends a pane of event time, of {@link #PANE} milliseconds here, and is a watermark. Time
 * is that of all threads of the process, from the first event to the end of the job.
 */
final class Flink {
  private static final long PANE = 1000;
  private static final int DAY = 144; // panes
  private static final long NONE = -1; // the key of ticks

  private static final TypeInformation<Tuple2<Long, Long>> COUNTED =
      TypeInformation.of(new TypeHint<Tuple2<Long, Long>>() {});
  private static final TypeInformation<Tuple3<Long, Long, Long>> SCORED =
      TypeInformation.of(new TypeHint<Tuple3<Long, Long, Long>>() {});
  private static final TypeInformation<Tuple2<Long, Double>> SALE =
      TypeInformation.of(new TypeHint<Tuple2<Long, Double>>() {});

  private static Event[] events;
  private static List<Object> values;
  private static long begin;

  private Flink() {}

  static long run(String query, Event[] given, List<Object> found) throws Exception {
    events = given;
    values = new ArrayList<>();
    LocalStreamEnvironment job = StreamExecutionEnvironment.createLocalEnvironment(1);
    job.getConfig().enableObjectReuse();
    job.setBufferTimeout(-1);
    of(query, job.addSource(new Replay(), Types.POJO(Event.class))).addSink(new Kept());
    job.execute();
    long taken = clock() - begin;
    boolean isPerTick = !query.equals("N1") && !query.equals("N2") && !query.equals("N3");
    found.addAll(isPerTick ? values.subList(0, ticks()) : values); // not those of later windows
    return taken;
  }

  private static SingleOutputStreamOperator<Object> of(String query, DataStream<Event> source) {
    return switch (query) {
      case "Y1" -> viewsPerCampaign(source);
      case "Y2" -> mostSuccessfulAds(source);
      case "N1" -> openAuctions(source);
      case "N2" -> sales(source).keyBy(sale -> 0).process(new Average<>(false), ANY);
      case "N3" -> sales(source).keyBy(sale -> sale.f0).process(new Average<>(true), ANY);
      case "N4" -> highestBid(source);
      case "N5" -> mostBids(source);
      default -> throw new IllegalArgumentException(query);
    };
  }

  private static final TypeInformation<Object> ANY = TypeInformation.of(Object.class);

  private static SingleOutputStreamOperator<Object> viewsPerCampaign(DataStream<Event> source) {
    DataStream<Tuple2<Long, Long>> views =
        source
            .filter(event -> event.getKind() != Event.TICK)
            .keyBy(Event::getKey)
            .window(TumblingEventTimeWindows.of(pane(1)))
            .aggregate(new Total(event -> event.getKind() == 0 ? 1 : 0), new WithKey());
    return views
        .union(source.filter(Flink::isTick).map(tick -> Tuple2.of(NONE, 0L), COUNTED))
        .windowAll(TumblingEventTimeWindows.of(pane(1)))
        .process(
            new ProcessAllWindowFunction<Tuple2<Long, Long>, Object, TimeWindow>() {
              @Override
              public void process(
                  Context context, Iterable<Tuple2<Long, Long>> counted, Collector<Object> out) {
                Map<Object, Object> views = new HashMap<>();
                counted.forEach(each -> views.put(each.f0, each.f1));
                views.remove(NONE);
                out.collect(views);
              }
            },
            ANY);
  }

  private static SingleOutputStreamOperator<Object> mostSuccessfulAds(DataStream<Event> source) {
    return source
        .filter(event -> event.getKind() != Event.TICK)
        .keyBy(event -> Tuple2.of(event.getUser(), event.getDetail()), COUNTED)
        .process(new Success(), Types.LONG)
        .keyBy(Campaigns::of)
        .process(new BestAd(), SCORED)
        .union(source.filter(Flink::isTick).map(tick -> Tuple3.of(NONE, 0L, 0L), SCORED))
        .windowAll(TumblingEventTimeWindows.of(pane(1)))
        .process(
            new ProcessAllWindowFunction<Tuple3<Long, Long, Long>, Object, TimeWindow>() {
              @Override
              public void process(
                  Context context, Iterable<Tuple3<Long, Long, Long>> ads, Collector<Object> out) {
                Map<Object, Object> best = new HashMap<>();
                ads.forEach(ad -> best.put(ad.f0, new Object[] {ad.f1, ad.f2}));
                best.remove(NONE);
                out.collect(best);
              }
            },
            ANY);
  }

  private static SingleOutputStreamOperator<Object> openAuctions(DataStream<Event> source) {
    return source
        .filter(event -> event.getKind() == 1 || event.getKind() == 3)
        .map(event -> event.getKind() == 1 ? 1 : -1)
        .keyBy(change -> 0)
        .reduce(Integer::sum)
        .map(number -> (Object) number, ANY);
  }

  private static SingleOutputStreamOperator<Tuple2<Long, Double>> sales(DataStream<Event> source) {
    return source
        .filter(event -> event.getKind() >= 1 && event.getKind() <= 3)
        .keyBy(Event::getKey)
        .process(new Auction(true), SALE);
  }

  private static SingleOutputStreamOperator<Object> highestBid(DataStream<Event> source) {
    double no = Double.NEGATIVE_INFINITY;
    return source
        .filter(event -> event.getKind() >= 1 && event.getKind() <= 3)
        .keyBy(Event::getKey)
        .process(new Auction(false), SALE)
        .union(source.filter(Flink::isTick).map(tick -> Tuple2.of(NONE, no), SALE))
        .windowAll(TumblingEventTimeWindows.of(pane(1)))
        .reduce((ReduceFunction<Tuple2<Long, Double>>) (a, b) -> a.f1 >= b.f1 ? a : b)
        .map(best -> best.f1 == no ? "null" : (Object) best.f1, ANY);
  }

  private static SingleOutputStreamOperator<Object> mostBids(DataStream<Event> source) {
    return source
        .filter(event -> event.getKind() == 2)
        .keyBy(Event::getKey)
        .window(TumblingEventTimeWindows.of(pane(1)))
        .aggregate(new Total(event -> 1), new WithKey())
        .keyBy(item -> item.f0)
        .window(SlidingEventTimeWindows.of(pane(DAY), pane(1)))
        .reduce(
            (ReduceFunction<Tuple2<Long, Long>>) (a, b) -> Tuple2.of(a.f0, a.f1 + b.f1))
        .union(source.filter(Flink::isTick).map(tick -> Tuple2.of(NONE, 0L), COUNTED))
        .windowAll(TumblingEventTimeWindows.of(pane(1)))
        .reduce((ReduceFunction<Tuple2<Long, Long>>) Flink::better)
        .map(best -> best.f1 == 0 ? "null" : (Object) new Object[] {best.f0, best.f1}, ANY);
  }

  private static Tuple2<Long, Long> better(Tuple2<Long, Long> a, Tuple2<Long, Long> b) {
    return a.f1 > b.f1 || (a.f1.equals(b.f1) && a.f0 <= b.f0) ? a : b;
  }

  private static boolean isTick(Event event) {
    return event.getKind() == Event.TICK;
  }

  private static java.time.Duration pane(int number) {
    return java.time.Duration.ofMillis(number * PANE);
  }

  private static int ticks() {
    int number = 0;
    for (Event event : events) {
      number += isTick(event) ? 1 : 0;
    }
    return number;
  }

  /** The processor time of all threads, in nanoseconds. */
  private static long clock() {
    return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
        .getProcessCpuTime();
  }

  /** The events, those of a pane with its time, and a watermark after each tick. */
  private static final class Replay implements SourceFunction<Event> {
    @Override
    public void run(SourceContext<Event> context) {
      begin = clock();
      long time = 0;
      for (Event event : events) {
        context.collectWithTimestamp(event, time);
        if (isTick(event)) {
          context.emitWatermark(new Watermark(time + PANE - 1));
          time += PANE;
        }
      }
    }

    @Override
    public void cancel() {}
  }

  private static final class Kept implements SinkFunction<Object> {
    @Override
    public void invoke(Object value, Context context) {
      values.add(value);
    }
  }

  /** A function of an event that can be shipped. */
  private interface Number extends java.io.Serializable {
    long of(Event event);
  }

  private record Total(Number number) implements AggregateFunction<Event, Long, Long> {
    @Override
    public Long createAccumulator() {
      return 0L;
    }

    @Override
    public Long add(Event event, Long total) {
      return total + number.of(event);
    }

    @Override
    public Long getResult(Long total) {
      return total;
    }

    @Override
    public Long merge(Long one, Long other) {
      return one + other;
    }
  }

  private static final class WithKey
      extends ProcessWindowFunction<Long, Tuple2<Long, Long>, Long, TimeWindow> {
    @Override
    public void process(
        Long key, Context context, Iterable<Long> total, Collector<Tuple2<Long, Long>> out) {
      out.collect(Tuple2.of(key, total.iterator().next()));
    }
  }

  /** Of a user's events with an ad, the ad at the first purchase after a view. */
  private static final class Success
      extends KeyedProcessFunction<Tuple2<Long, Long>, Event, Long> {
    private transient ValueState<Boolean> hasBought; // null before the first view

    @Override
    public void open(Configuration configuration) {
      hasBought = getRuntimeContext().getState(new ValueStateDescriptor<>("bought", Types.BOOLEAN));
    }

    @Override
    public void processElement(Event event, Context context, Collector<Long> out)
        throws Exception {
      if (event.getKind() == 0 && hasBought.value() == null) {
        hasBought.update(false);
      } else if (event.getKind() == 2 && Boolean.FALSE.equals(hasBought.value())) {
        hasBought.update(true);
        out.collect(event.getDetail());
      }
    }
  }

  /** At the end of each pane, a campaign's most successful ad so far. */
  private static final class BestAd
      extends KeyedProcessFunction<Long, Long, Tuple3<Long, Long, Long>> {
    private transient MapState<Long, Long> successes;
    private transient ValueState<Boolean> isTimed;

    @Override
    public void open(Configuration configuration) {
      successes =
          getRuntimeContext()
              .getMapState(new MapStateDescriptor<>("successes", Types.LONG, Types.LONG));
      isTimed = getRuntimeContext().getState(new ValueStateDescriptor<>("timed", Types.BOOLEAN));
    }

    @Override
    public void processElement(
        Long ad, Context context, Collector<Tuple3<Long, Long, Long>> out) throws Exception {
      if (isTimed.value() == null) {
        isTimed.update(true);
        context.timerService().registerEventTimeTimer(context.timestamp() + PANE - 1);
      }
      Long number = successes.get(ad);
      successes.put(ad, number == null ? 1 : number + 1);
    }

    @Override
    public void onTimer(long time, OnTimerContext context, Collector<Tuple3<Long, Long, Long>> out)
        throws Exception {
      if (context.timerService().currentWatermark() == Long.MAX_VALUE) {
        return; // the stream is over
      }
      long ad = NONE;
      long most = 0;
      for (Map.Entry<Long, Long> pair : successes.entries()) {
        if (pair.getValue() > most || (pair.getValue() == most && pair.getKey() < ad)) {
          ad = pair.getKey();
          most = pair.getValue();
        }
      }
      out.collect(Tuple3.of(context.getCurrentKey(), ad, most));
      context.timerService().registerEventTimeTimer(time + PANE);
    }
  }

  /** Of one item's events, the category and price at its close, or what it stands at at a bid. */
  private static final class Auction
      extends KeyedProcessFunction<Long, Event, Tuple2<Long, Double>> {
    private final boolean atClose;
    private transient ValueState<double[]> standing; // category, first price, increments

    Auction(boolean atClose) {
      this.atClose = atClose;
    }

    @Override
    public void open(Configuration configuration) {
      standing =
          getRuntimeContext().getState(new ValueStateDescriptor<>("standing", double[].class));
    }

    @Override
    public void processElement(Event event, Context context, Collector<Tuple2<Long, Double>> out)
        throws Exception {
      double[] item = standing.value();
      if (event.getKind() == 1) {
        standing.update(new double[] {event.getDetail(), event.getPrice(), 0});
      } else if (item != null && event.getKind() == 2) {
        standing.update(new double[] {item[0], item[1], item[2] + event.getPrice()});
        if (!atClose) {
          out.collect(Tuple2.of((long) item[0], item[1] + (item[2] + event.getPrice())));
        }
      } else if (item != null) {
        if (atClose) {
          out.collect(Tuple2.of((long) item[0], item[1] + item[2]));
        }
        standing.clear();
      }
    }
  }

  /** The mean price of all sales so far, of each category with it. */
  private static final class Average<K>
      extends KeyedProcessFunction<K, Tuple2<Long, Double>, Object> {
    private final boolean isPerCategory;
    private transient ValueState<double[]> total; // of prices, number

    Average(boolean isPerCategory) {
      this.isPerCategory = isPerCategory;
    }

    @Override
    public void open(Configuration configuration) {
      total = getRuntimeContext().getState(new ValueStateDescriptor<>("total", double[].class));
    }

    @Override
    public void processElement(
        Tuple2<Long, Double> sale, Context context, Collector<Object> out) throws Exception {
      double[] before = total.value() == null ? new double[2] : total.value();
      double[] sum = {before[0] + sale.f1, before[1] + 1};
      total.update(sum);
      double mean = sum[0] / sum[1];
      out.collect(isPerCategory ? new Object[] {sale.f0, mean} : (Object) mean);
    }
  }
}
