SELECT
  "key_0",
  "key_1",
  "key_2",
  COUNT(*) AS "row_count",
  CAST(SUM("value_0") AS DECIMAL(38, 2)) AS "total_0",
  CAST(CAST(SIGN(
    (
      CAST(CAST(SUM("value_1") AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0))
    )
  ) * (
    (
      CAST((
        (
          2 * ABS(
            (
              CAST(CAST(SUM("value_1") AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0))
            )
          ) + NULLIF(COUNT("value_1"), 0)
        ) - (
          2 * ABS(
            (
              CAST(CAST(SUM("value_1") AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0))
            )
          ) + NULLIF(COUNT("value_1"), 0)
        ) % (
          2 * NULLIF(COUNT("value_1"), 0)
        )
      ) / (
        2 * NULLIF(COUNT("value_1"), 0)
      ) AS DECIMAL(38, 0))
    )
  ) AS DECIMAL(38, 0)) * CAST('1e-8' AS DECIMAL(9, 8)) AS DECIMAL(38, 8)) AS "total_1",
  CAST(COUNT("value_2") AS DECIMAL(38, 0)) AS "total_2"
FROM (
  SELECT
    REPLACE(UPPER(TRIM("source"."company", ' ')), 'ẞ', 'ß') AS "key_0",
    TO_CHAR("source"."day", 'yyyy-mm') AS "key_1",
    (
      RTRIM(RTRIM(TO_CHAR("source"."moment", 'YYYY-MM-DD HH24:MI:SS.FF6'), '0'), '.')
    ) AS "key_2",
    "source"."amount" AS "value_0",
    "source"."amount" AS "value_1",
    "source"."company" AS "value_2"
  FROM "dbo"."new" AS "source"
  WHERE
    (
      REPLACE(UPPER(TRIM("source"."company", ' ')), 'ẞ', 'ß') IN ((
          CAST(? AS VARCHAR)
      ))
      OR REPLACE(UPPER(TRIM("source"."company", ' ')), 'ẞ', 'ß') IS NULL
    )
    AND (
      RTRIM(RTRIM(TO_CHAR("source"."moment", 'YYYY-MM-DD HH24:MI:SS.FF6'), '0'), '.')
    ) >= (
      CAST(? AS VARCHAR)
    )
) AS "rows"
GROUP BY
  "key_0",
  "key_1",
  "key_2";

SELECT
  "key_0",
  "key_1",
  "key_2",
  COUNT(*) AS "row_count",
  CAST(SUM("value_0") AS DECIMAL(38, 2)) AS "total_0",
  CAST(CAST(SIGN(
    (
      CAST(CAST(SUM("value_1") AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0))
    )
  ) * (
    (
      CAST((
        (
          2 * ABS(
            (
              CAST(CAST(SUM("value_1") AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0))
            )
          ) + NULLIF(COUNT("value_1"), 0)
        ) - (
          2 * ABS(
            (
              CAST(CAST(SUM("value_1") AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0))
            )
          ) + NULLIF(COUNT("value_1"), 0)
        ) % (
          2 * NULLIF(COUNT("value_1"), 0)
        )
      ) / (
        2 * NULLIF(COUNT("value_1"), 0)
      ) AS DECIMAL(38, 0))
    )
  ) AS DECIMAL(38, 0)) * CAST('1e-8' AS DECIMAL(9, 8)) AS DECIMAL(38, 8)) AS "total_1",
  CAST(COUNT("value_2") AS DECIMAL(38, 0)) AS "total_2"
FROM (
  SELECT
    REPLACE(UPPER(TRIM("source"."company", ' ')), 'ẞ', 'ß') AS "key_0",
    TO_CHAR("source"."day", 'yyyy-mm') AS "key_1",
    (
      RTRIM(RTRIM(TO_CHAR("source"."moment", 'YYYY-MM-DD HH24:MI:SS.FF6'), '0'), '.')
    ) AS "key_2",
    "source"."amount" AS "value_0",
    "source"."amount" AS "value_1",
    "source"."company" AS "value_2"
  FROM "dbo"."old" AS "source"
  WHERE
    (
      REPLACE(UPPER(TRIM("source"."company", ' ')), 'ẞ', 'ß') IN ((
          CAST(? AS VARCHAR)
      ))
      OR REPLACE(UPPER(TRIM("source"."company", ' ')), 'ẞ', 'ß') IS NULL
    )
    AND (
      RTRIM(RTRIM(TO_CHAR("source"."moment", 'YYYY-MM-DD HH24:MI:SS.FF6'), '0'), '.')
    ) >= (
      CAST(? AS VARCHAR)
    )
) AS "rows"
GROUP BY
  "key_0",
  "key_1",
  "key_2";
