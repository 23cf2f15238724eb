package rivals;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;

/** An event: a type's number, two keys and a user (-1 if absent), and a price. A bean, for Flink. */
public final class Event {
  public static final int TICK = 9;

  private int kind;
  private long key;
  private long detail;
  private long user;
  private double price;

  public Event() {}

  Event(int kind, long key, long detail, long user, double price) {
    this.kind = kind;
    this.key = key;
    this.detail = detail;
    this.user = user;
    this.price = price;
  }

  public int getKind() {
    return kind;
  }

  public void setKind(int kind) {
    this.kind = kind;
  }

  public long getKey() {
    return key;
  }

  public void setKey(long key) {
    this.key = key;
  }

  public long getDetail() {
    return detail;
  }

  public void setDetail(long detail) {
    this.detail = detail;
  }

  public long getUser() {
    return user;
  }

  public void setUser(long user) {
    this.user = user;
  }

  public double getPrice() {
    return price;
  }

  public void setPrice(double price) {
    this.price = price;
  }

  /** Read events from a file of five columns of 8 bytes, one after another, little-endian. */
  static Event[] read(Path file) throws IOException {
    ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
    int count = bytes.capacity() / 40;
    Event[] events = new Event[count];
    for (int n = 0; n < count; n++) {
      events[n] =
          new Event(
              (int) bytes.getLong(8 * n),
              bytes.getLong(8 * (count + n)),
              bytes.getLong(8 * (2 * count + n)),
              bytes.getLong(8 * (3 * count + n)),
              bytes.getDouble(8 * (4 * count + n)));
    }
    return events;
  }
}
