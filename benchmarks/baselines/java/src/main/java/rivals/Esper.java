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

/** StreamQRE's queries in Esper's language, those that it says without code of its own. */
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
  private static final Map<String, String> QUERIES =
      Map.of(
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
    long start = Main.clock();
    for (Event event : events) {
      runtime.getEventService().sendEventBean(event, "Event");
    }
    long taken = Main.clock() - start;
    runtime.destroy();
    return taken;
  }

  private static void take(String query, EventBean[] found, List<Object> values) {
    if (query.equals("Y1")) {
      Map<Object, Object> views = new HashMap<>();
      for (EventBean row : found) {
        views.put(row.get("key"), row.get("value"));
      }
      values.add(views);
      return;
    }
    for (EventBean row : found) {
      Object value = row.get("value");
      values.add(query.equals("N3") ? new Object[] {row.get("key"), value} : value);
    }
  }
}
