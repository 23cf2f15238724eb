"""The scalar functions of Spark's SQL that queries may call on the attributes of one event.

Those of Spark 4 whose value depends on their arguments alone, without lambda functions, and without
ABS and LOG2, which the language has itself. `elsinore.runtime.sql` says which of them are computed
in process.
"""

from __future__ import annotations

_NAMES = """
acos acosh add_months array array_append array_compact array_contains array_distinct array_except
array_insert array_intersect array_join array_max array_min array_position array_prepend
array_remove array_repeat array_size array_union arrays_overlap arrays_zip ascii asin asinh atan
atan2 atanh base64 bigint bin binary bit_count bit_get bit_length boolean bround btrim cardinality
cbrt ceil ceiling char char_length character_length chr coalesce collate collation concat
concat_ws contains conv convert_timezone cos cosh cot crc32 csc date date_add date_diff
date_format date_from_unix_date date_part date_sub date_trunc dateadd datediff datepart day
dayname dayofmonth dayofweek dayofyear decimal decode degrees double element_at elt encode
endswith equal_null exp expm1 extract factorial find_in_set flatten float floor format_number
format_string from_base32 from_json from_unixtime from_utc_timestamp from_xml get get_json_object
getbit greatest hash hex hour hypot if ifnull ilike initcap instr int is_valid_utf8 isnan
isnotnull isnull jaro_winkler_similarity json_array_length json_object_keys last_day lcase least
left len length levenshtein like ln locate log log10 log1p lower lpad ltrim luhn_check make_date
make_dt_interval make_interval make_time make_timestamp make_timestamp_ltz make_timestamp_ntz
make_valid_utf8 make_ym_interval map map_concat map_contains_key map_entries map_from_arrays
map_from_entries map_keys map_values mask md5 minute mod month monthname months_between nanvl
negative next_day nullif nullifzero nvl nvl2 octet_length overlay parse_url pmod position positive
pow power printf quarter quote radians regexp regexp_count regexp_extract regexp_extract_all
regexp_instr regexp_like regexp_replace regexp_substr repeat replace reverse right rint rlike
round rpad rtrim schema_of_json schema_of_xml sec second sentences sequence sha sha1 sha2
shiftleft shiftright shiftrightunsigned sign signum sin sinh size slice smallint sort_array
soundex space split split_part sqrt startswith str_to_map string substr substring substring_index
tan tanh time time_diff time_from_micros time_from_millis time_from_seconds time_to_micros
time_to_millis time_to_seconds time_trunc timestamp timestamp_micros timestamp_millis
timestamp_nanos timestamp_seconds tinyint to_base32 to_binary to_char to_date to_json to_number
to_time to_timestamp to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp
to_varchar to_xml translate trim trunc try_add try_divide try_element_at try_make_interval
try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz try_mod try_multiply
try_parse_url try_subtract try_to_binary try_to_date try_to_number try_to_time try_to_timestamp
try_url_decode try_validate_utf8 ucase unbase64 unhex unix_date unix_micros unix_millis unix_nanos
unix_seconds unix_timestamp upper url_decode url_encode validate_utf8 weekday weekofyear
width_bucket window window_time xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long
xpath_number xpath_short xpath_string xxhash64 year zeroifnull
"""
SQL_FUNCTIONS = frozenset(_NAMES.split())
