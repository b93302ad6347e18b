SELECT
  "key_0",
  "key_1",
  "key_2",
  COUNT(*) AS "row_count",
  CAST(SUM("value_0") AS NUMBER(38, 2)) AS "total_0",
  CAST(CAST(SIGN(
    (
      CAST(CAST(SUM("value_1") AS NUMBER(38, 2)) * CAST(100000000 AS NUMBER(9, 0)) AS NUMBER(38, 0))
    )
  ) * (
    (
      CAST(TRUNC(
        (
          2 * ABS(
            (
              CAST(CAST(SUM("value_1") AS NUMBER(38, 2)) * CAST(100000000 AS NUMBER(9, 0)) AS NUMBER(38, 0))
            )
          ) + NULLIF(COUNT("value_1"), 0)
        ) / (
          2 * NULLIF(COUNT("value_1"), 0)
        )
      ) AS NUMBER(38, 0))
    )
  ) AS NUMBER(38, 0)) * CAST('1e-8' AS NUMBER(9, 8)) AS NUMBER(38, 8)) AS "total_1",
  CAST(COUNT("value_2") AS NUMBER(38, 0)) AS "total_2"
FROM (
  SELECT
    REPLACE(UPPER(TRIM(' ' FROM (
      CAST("source"."company" AS VARCHAR2(4000))
    ))), 'ẞ', 'ß') AS "key_0",
    TO_CHAR("source"."day", 'YYYY-MM') AS "key_1",
    (
      RTRIM(
        RTRIM(TO_CHAR(CAST("source"."moment" AS TIMESTAMP), 'YYYY-MM-DD HH24:MI:SS.FF6'), '0'),
        '.'
      )
    ) AS "key_2",
    "source"."amount" AS "value_0",
    "source"."amount" AS "value_1",
    "source"."company" AS "value_2"
  FROM "dbo"."new" "source"
  WHERE
    (
      REPLACE(UPPER(TRIM(' ' FROM (
        CAST("source"."company" AS VARCHAR2(4000))
      ))), 'ẞ', 'ß') IN ((
          CAST(:p2 AS VARCHAR2(4000))
      ))
      OR REPLACE(UPPER(TRIM(' ' FROM (
        CAST("source"."company" AS VARCHAR2(4000))
      ))), 'ẞ', 'ß') IS NULL
    )
    AND (
      RTRIM(
        RTRIM(TO_CHAR(CAST("source"."moment" AS TIMESTAMP), 'YYYY-MM-DD HH24:MI:SS.FF6'), '0'),
        '.'
      )
    ) >= (
      CAST(:p3 AS VARCHAR2(4000))
    )
) "rows"
GROUP BY
  "key_0",
  "key_1",
  "key_2";

SELECT
  "key_0",
  "key_1",
  "key_2",
  COUNT(*) AS "row_count",
  CAST(SUM("value_0") AS NUMBER(38, 2)) AS "total_0",
  CAST(CAST(SIGN(
    (
      CAST(CAST(SUM("value_1") AS NUMBER(38, 2)) * CAST(100000000 AS NUMBER(9, 0)) AS NUMBER(38, 0))
    )
  ) * (
    (
      CAST(TRUNC(
        (
          2 * ABS(
            (
              CAST(CAST(SUM("value_1") AS NUMBER(38, 2)) * CAST(100000000 AS NUMBER(9, 0)) AS NUMBER(38, 0))
            )
          ) + NULLIF(COUNT("value_1"), 0)
        ) / (
          2 * NULLIF(COUNT("value_1"), 0)
        )
      ) AS NUMBER(38, 0))
    )
  ) AS NUMBER(38, 0)) * CAST('1e-8' AS NUMBER(9, 8)) AS NUMBER(38, 8)) AS "total_1",
  CAST(COUNT("value_2") AS NUMBER(38, 0)) AS "total_2"
FROM (
  SELECT
    REPLACE(UPPER(TRIM(' ' FROM (
      CAST("source"."company" AS VARCHAR2(4000))
    ))), 'ẞ', 'ß') AS "key_0",
    TO_CHAR("source"."day", 'YYYY-MM') AS "key_1",
    (
      RTRIM(
        RTRIM(TO_CHAR(CAST("source"."moment" AS TIMESTAMP), 'YYYY-MM-DD HH24:MI:SS.FF6'), '0'),
        '.'
      )
    ) AS "key_2",
    "source"."amount" AS "value_0",
    "source"."amount" AS "value_1",
    "source"."company" AS "value_2"
  FROM "dbo"."old" "source"
  WHERE
    (
      REPLACE(UPPER(TRIM(' ' FROM (
        CAST("source"."company" AS VARCHAR2(4000))
      ))), 'ẞ', 'ß') IN ((
          CAST(:p0 AS VARCHAR2(4000))
      ))
      OR REPLACE(UPPER(TRIM(' ' FROM (
        CAST("source"."company" AS VARCHAR2(4000))
      ))), 'ẞ', 'ß') IS NULL
    )
    AND (
      RTRIM(
        RTRIM(TO_CHAR(CAST("source"."moment" AS TIMESTAMP), 'YYYY-MM-DD HH24:MI:SS.FF6'), '0'),
        '.'
      )
    ) >= (
      CAST(:p1 AS VARCHAR2(4000))
    )
) "rows"
GROUP BY
  "key_0",
  "key_1",
  "key_2";
