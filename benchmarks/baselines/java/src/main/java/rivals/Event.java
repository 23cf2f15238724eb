package rivals;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;

/** An event: a type's number, two keys (-1 where there is none) and a price. */
public final class Event {
  public static final int TICK = 9;

  private final int kind;
  private final long key;
  private final long detail;
  private final double price;

  Event(int kind, long key, long detail, double price) {
    this.kind = kind;
    this.key = key;
    this.detail = detail;
    this.price = price;
  }

  public int getKind() {
    return kind;
  }

  public long getKey() {
    return key;
  }

  public long getDetail() {
    return detail;
  }

  public double getPrice() {
    return price;
  }

  /** Read events from a file of four columns of 8 bytes, one after another, little-endian. */
  static Event[] read(Path file) throws IOException {
    ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
    int count = bytes.capacity() / 32;
    Event[] events = new Event[count];
    for (int n = 0; n < count; n++) {
      events[n] =
          new Event(
              (int) bytes.getLong(8 * n),
              bytes.getLong(8 * (count + n)),
              bytes.getLong(8 * (2 * count + n)),
              bytes.getDouble(8 * (3 * count + n)));
    }
    return events;
  }
}
