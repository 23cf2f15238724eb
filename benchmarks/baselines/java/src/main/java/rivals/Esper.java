package rivals;

import com.espertech.esper.common.client.EPCompiled;
import com.espertech.esper.common.client.EventBean;
import com.espertech.esper.common.client.configuration.Configuration;
import com.espertech.esper.compiler.client.CompilerArguments;
import com.espertech.esper.compiler.client.EPCompilerProvider;
import com.espertech.esper.runtime.client.EPRuntime;
import com.espertech.esper.runtime.client.EPRuntimeProvider;
import com.espertech.esper.runtime.client.EPStatement;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** StreamQRE's queries in Esper's language. */
final class Esper {
  private static final String PER_ITEM =
      "create context PerItem partition by key from Event"
          + " initiated by Event(kind=1) terminated by Event(kind=3);";
  private static final String SALES =
      PER_ITEM
          + "context PerItem insert into Sale select last(detail) as category, sum(price) as price"
          + " from Event(kind in (1, 2)) output last when terminated;";
  private static final String TICKS =
      "create context Ticks start @now end Event(kind=" + Event.TICK + ");";
  private static final int PANE = 600_000; // milliseconds between two ticks
  private static final Map<String, String> QUERIES =
      Map.of(
          "Y2",
          "insert into Success select a.detail as ad from pattern [every-distinct(a.user, a.detail)"
              + " a=Event(kind=0) -> b=Event(kind=2, user=a.user, detail=a.detail)];"
              + "create table Successes (ad long primary key, number count(*));"
              + "into table Successes select count(*) as number from Success group by ad;"
              + "@name('out') on Event(kind=" + Event.TICK + ") select Campaigns.of(s.ad) as key,"
              + " window(s.*).orderBy(x => x.ad).maxBy(x => x.number) as best"
              + " from Successes as s group by Campaigns.of(s.ad);",
          "N5",
          "create table Bids (key long primary key, number count(*));"
              + "into table Bids select count(*) as number from Event(kind=2)#time(24 hours)"
              + " group by key;"
              + "@name('out') on Event(kind=" + Event.TICK + ") select b.key as key,"
              + " b.number as number from Bids as b order by b.number desc, b.key limit 1;",
          "Y1",
          TICKS
              + "@name('out') context Ticks select key, sum(case when kind=0 then 1 else 0 end)"
              + " as value from Event(kind in (0, 1, 2)) group by key"
              + " output all when terminated;",
          "N1",
          "@name('out') select sum(case when kind=1 then 1 else -1 end) as value"
              + " from Event(kind in (1, 3));",
          "N2",
          SALES + "@name('out') select avg(price) as value from Sale;",
          "N3",
          SALES + "@name('out') select category as key, avg(price) as value from Sale"
              + " group by category;",
          "N4",
          PER_ITEM
              + "context PerItem insert into Offer select kind, sum(price) as price"
              + " from Event(kind in (1, 2));"
              + TICKS
              + "@name('out') context Ticks select max(price) as value from Offer(kind=2)"
              + " output last when terminated;");

  private Esper() {}

  static long run(String query, Event[] events, List<Object> values) throws Exception {
    Configuration configuration = new Configuration();
    configuration.getCommon().addEventType(Event.class);
    configuration.getCommon().addImport(Campaigns.class);
    configuration.getRuntime().getThreading().setInternalTimerEnabled(false);
    EPCompiled compiled =
        EPCompilerProvider.getCompiler()
            .compile(QUERIES.get(query), new CompilerArguments(configuration));
    EPRuntime runtime = EPRuntimeProvider.getRuntime("rivals" + System.nanoTime(), configuration);
    for (EPStatement statement : runtime.getDeploymentService().deploy(compiled).getStatements()) {
      if (statement.getName().equals("out")) {
        statement.addListener((found, old, source, of) -> take(query, found, values));
      }
    }
    runtime.getEventService().advanceTime(0);
    long start = Main.clock();
    long time = 0;
    for (Event event : events) {
      runtime.getEventService().sendEventBean(event, "Event");
      if (event.getKind() == Event.TICK) {
        time += PANE;
        runtime.getEventService().advanceTime(time);
      }
    }
    long taken = Main.clock() - start;
    runtime.destroy();
    return taken;
  }

  private static void take(String query, EventBean[] found, List<Object> values) {
    switch (query) {
      case "Y1" -> values.add(views(found));
      case "Y2" -> values.add(best(found));
      default -> {
        for (EventBean row : found) {
          values.add(value(query, row));
        }
      }
    }
  }

  private static Object value(String query, EventBean row) {
    return switch (query) {
      case "N3" -> new Object[] {row.get("key"), row.get("value")};
      case "N5" -> new Object[] {row.get("key"), row.get("number")};
      default -> row.get("value");
    };
  }

  private static Map<Object, Object> views(EventBean[] found) {
    Map<Object, Object> views = new HashMap<>();
    for (EventBean row : found) {
      views.put(row.get("key"), row.get("value"));
    }
    return views;
  }

  /** Each campaign's best ad. */
  private static Map<Object, Object> best(EventBean[] found) {
    Map<Object, Object> best = new HashMap<>();
    for (EventBean row : found) {
      Object[] ad = (Object[]) row.get("best"); // the ad and its successes
      best.put(row.get("key"), ad);
    }
    return best;
  }
}
