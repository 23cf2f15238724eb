package rivals;

import io.reactivex.rxjava3.core.Observable;
import io.reactivex.rxjava3.subjects.PublishSubject;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** StreamQRE's queries in RxJava, with its own operators where it has some. */
final class Reactive {
  private static final int DAY = 144; // ticks

  private Reactive() {}

  static long run(String query, Event[] events, List<Object> values) {
    PublishSubject<Event> source = PublishSubject.create();
    of(query, source).subscribe(values::add);
    long start = Main.clock();
    for (Event event : events) {
      source.onNext(event);
    }
    return Main.clock() - start;
  }

  private static Observable<? extends Object> of(String query, Observable<Event> source) {
    return switch (query) {
      case "Y1" -> viewsPerCampaign(source);
      case "Y2" -> mostSuccessfulAds(source);
      case "N1" ->
          source
              .filter(event -> event.getKind() == 1 || event.getKind() == 3)
              .map(event -> event.getKind() == 1 ? 1 : -1)
              .scan(Integer::sum);
      case "N2" -> averages(sales(source));
      case "N3" ->
          sales(source)
              .groupBy(sale -> (long) sale[0])
              .flatMap(
                  group -> averages(group).map(mean -> new Object[] {group.getKey(), mean}));
      case "N4" -> highestBid(source);
      case "N5" -> mostBids(source);
      default -> throw new IllegalArgumentException(query);
    };
  }

  private static Observable<Event> ticks(Observable<Event> source) {
    return source.filter(event -> event.getKind() == Event.TICK);
  }

  private static Observable<Object> viewsPerCampaign(Observable<Event> source) {
    return source
        .filter(event -> event.getKind() != Event.TICK)
        .buffer(ticks(source))
        .map(
            second -> {
              Map<Long, Integer> views = new HashMap<>();
              for (Event event : second) {
                views.merge(event.getKey(), event.getKind() == 0 ? 1 : 0, Integer::sum);
              }
              return views;
            });
  }

  /** A user's first purchase after a view of an ad is a success of that ad. */
  private static Observable<Object> mostSuccessfulAds(Observable<Event> source) {
    Map<Long, Map<Long, Integer>> successes = new HashMap<>();
    Map<Viewed, Boolean> hasBought = new HashMap<>();
    return source
        .doOnNext(
            event -> {
              if (event.getKind() == 0) {
                hasBought.putIfAbsent(new Viewed(event.getUser(), event.getDetail()), false);
              } else if (event.getKind() == 2
                  && hasBought.replace(new Viewed(event.getUser(), event.getDetail()), false, true)) {
                successes
                    .computeIfAbsent(Campaigns.of(event.getDetail()), key -> new HashMap<>())
                    .merge(event.getDetail(), 1, Integer::sum);
              }
            })
        .filter(event -> event.getKind() == Event.TICK)
        .map(
            tick -> {
              Map<Long, Object> best = new HashMap<>();
              successes.forEach((campaign, counts) -> best.put(campaign, mostFrequent(counts)));
              return best;
            });
  }

  private record Viewed(long user, long ad) {}

  /** The category and the price of each item at its close. */
  private static Observable<double[]> sales(Observable<Event> source) {
    return source
        .filter(event -> event.getKind() >= 1 && event.getKind() <= 3)
        .groupBy(Event::getKey)
        .flatMap(
            group ->
                group
                    .takeUntil((Event event) -> event.getKind() == 3)
                    .reduce(
                        new double[3],
                        (sale, event) ->
                            switch (event.getKind()) {
                              case 1 -> new double[] {event.getDetail(), event.getPrice(), 0};
                              case 2 -> new double[] {sale[0], sale[1], sale[2] + event.getPrice()};
                              default -> sale;
                            })
                    .map(sale -> new double[] {sale[0], sale[1] + sale[2]})
                    .toObservable());
  }

  private static Observable<Double> averages(Observable<double[]> sales) {
    return sales
        .scan(new double[2], (sum, sale) -> new double[] {sum[0] + sale[1], sum[1] + 1})
        .skip(1)
        .map(sum -> sum[0] / sum[1]);
  }

  private static Observable<Object> highestBid(Observable<Event> source) {
    return source
        .filter(event -> event.getKind() >= 1 && event.getKind() <= 3)
        .groupBy(Event::getKey)
        .flatMap(
            item ->
                item.takeUntil((Event event) -> event.getKind() == 3)
                    .filter(event -> event.getKind() != 3)
                    .scan(
                        new double[2],
                        (state, event) ->
                            event.getKind() == 1
                                ? new double[] {event.getPrice(), 0}
                                : new double[] {state[0], state[1] + event.getPrice()})
                    .skip(2) // the start, and the item itself
                    .map(state -> state[0] + state[1]))
        .buffer(ticks(source))
        .map(
            bids ->
                bids.isEmpty() ? "null" : (Object) bids.stream().reduce(Math::max).orElseThrow());
  }

  private static Observable<Object> mostBids(Observable<Event> source) {
    ArrayDeque<Map<Long, Integer>> panes = new ArrayDeque<>();
    Map<Long, Integer> day = new HashMap<>();
    return source
        .filter(event -> event.getKind() == 2)
        .map(Event::getKey)
        .buffer(ticks(source))
        .map(
            items -> {
              Map<Long, Integer> pane = new HashMap<>();
              items.forEach(item -> pane.merge(item, 1, Integer::sum));
              pane.forEach((item, number) -> day.merge(item, number, Integer::sum));
              panes.add(pane);
              if (panes.size() > DAY) {
                panes
                    .remove()
                    .forEach(
                        (item, number) ->
                            day.merge(item, -number, (a, b) -> a + b == 0 ? null : a + b));
              }
              return mostFrequent(day);
            });
  }

  /** The key that was counted most often, the least of several, and how often. */
  static Object mostFrequent(Map<Long, Integer> counts) {
    Long best = null;
    int most = 0;
    for (Map.Entry<Long, Integer> pair : counts.entrySet()) {
      if (best == null
          || pair.getValue() > most
          || (pair.getValue() == most && pair.getKey() < best)) {
        best = pair.getKey();
        most = pair.getValue();
      }
    }
    return best == null ? "null" : new Object[] {best, most};
  }
}
