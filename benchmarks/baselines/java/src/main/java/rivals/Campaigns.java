package rivals;

/** The static map from advertisements to campaigns, made ahead of time and kept in memory. */
public final class Campaigns {
  private static final long[] OF_AD = new long[1_000];

  static {
    for (int ad = 0; ad < OF_AD.length; ad++) {
      OF_AD[ad] = ad / 10;
    }
  }

  private Campaigns() {}

  /** The campaign of an advertisement. */
  public static long of(long ad) {
    return OF_AD[(int) ad];
  }
}
