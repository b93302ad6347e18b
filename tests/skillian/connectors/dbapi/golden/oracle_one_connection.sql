WITH "both" AS (
  SELECT
    "key_0",
    "key_1",
    "key_2",
    "row_count" AS "rows_a",
    "total_0" AS "a_0",
    "total_1" AS "a_1",
    "total_2" AS "a_2",
    0 AS "rows_b",
    NULL AS "b_0",
    NULL AS "b_1",
    NULL AS "b_2"
  FROM (
    SELECT
      "key_0",
      "key_1",
      "key_2",
      COUNT(*) AS "row_count",
      CAST(SUM("value_0") AS NUMBER(38, 2)) AS "total_0",
      CAST(CAST(SIGN(
        CAST(CAST(SUM("value_1") AS NUMBER(38, 2)) * CAST(100000000 AS NUMBER(9, 0)) AS NUMBER(38, 0))
      ) * (
        CAST(TRUNC(
          (
            2 * ABS(
              CAST(CAST(SUM("value_1") AS NUMBER(38, 2)) * CAST(100000000 AS NUMBER(9, 0)) AS NUMBER(38, 0))
            ) + NULLIF(COUNT("value_1"), 0)
          ) / (
            2 * NULLIF(COUNT("value_1"), 0)
          )
        ) AS NUMBER(38, 0))
      ) AS NUMBER(38, 0)) * CAST('1e-8' AS NUMBER(9, 8)) AS NUMBER(38, 8)) AS "total_1",
      CAST(COUNT("value_2") AS NUMBER(38, 0)) AS "total_2"
    FROM (
      SELECT
        REPLACE(UPPER(TRIM(' ' FROM CAST("source"."company" AS VARCHAR2(4000)))), 'ẞ', 'ß') AS "key_0",
        TO_CHAR("source"."day", 'YYYY-MM') AS "key_1",
        RTRIM(
          RTRIM(TO_CHAR(CAST("source"."moment" AS TIMESTAMP), 'YYYY-MM-DD HH24:MI:SS.FF6'), '0'),
          '.'
        ) AS "key_2",
        "source"."amount" AS "value_0",
        "source"."amount" AS "value_1",
        "source"."company" AS "value_2"
      FROM "dbo"."old" "source"
      WHERE
        (
          REPLACE(UPPER(TRIM(' ' FROM CAST("source"."company" AS VARCHAR2(4000)))), 'ẞ', 'ß') IN (CAST(:p0 AS VARCHAR2(4000)))
          OR REPLACE(UPPER(TRIM(' ' FROM CAST("source"."company" AS VARCHAR2(4000)))), 'ẞ', 'ß') IS NULL
        )
        AND RTRIM(
          RTRIM(TO_CHAR(CAST("source"."moment" AS TIMESTAMP), 'YYYY-MM-DD HH24:MI:SS.FF6'), '0'),
          '.'
        ) >= CAST(:p1 AS VARCHAR2(4000))
    ) "rows"
    GROUP BY
      "key_0",
      "key_1",
      "key_2"
  ) "side"
  UNION ALL
  SELECT
    "key_0",
    "key_1",
    "key_2",
    0 AS "rows_a",
    NULL AS "a_0",
    NULL AS "a_1",
    NULL AS "a_2",
    "row_count" AS "rows_b",
    "total_0" AS "b_0",
    "total_1" AS "b_1",
    "total_2" AS "b_2"
  FROM (
    SELECT
      "key_0",
      "key_1",
      "key_2",
      COUNT(*) AS "row_count",
      CAST(SUM("value_0") AS NUMBER(38, 2)) AS "total_0",
      CAST(CAST(SIGN(
        CAST(CAST(SUM("value_1") AS NUMBER(38, 2)) * CAST(100000000 AS NUMBER(9, 0)) AS NUMBER(38, 0))
      ) * (
        CAST(TRUNC(
          (
            2 * ABS(
              CAST(CAST(SUM("value_1") AS NUMBER(38, 2)) * CAST(100000000 AS NUMBER(9, 0)) AS NUMBER(38, 0))
            ) + NULLIF(COUNT("value_1"), 0)
          ) / (
            2 * NULLIF(COUNT("value_1"), 0)
          )
        ) AS NUMBER(38, 0))
      ) AS NUMBER(38, 0)) * CAST('1e-8' AS NUMBER(9, 8)) AS NUMBER(38, 8)) AS "total_1",
      CAST(COUNT("value_2") AS NUMBER(38, 0)) AS "total_2"
    FROM (
      SELECT
        REPLACE(UPPER(TRIM(' ' FROM CAST("source"."company" AS VARCHAR2(4000)))), 'ẞ', 'ß') AS "key_0",
        TO_CHAR("source"."day", 'YYYY-MM') AS "key_1",
        RTRIM(
          RTRIM(TO_CHAR(CAST("source"."moment" AS TIMESTAMP), 'YYYY-MM-DD HH24:MI:SS.FF6'), '0'),
          '.'
        ) AS "key_2",
        "source"."amount" AS "value_0",
        "source"."amount" AS "value_1",
        "source"."company" AS "value_2"
      FROM "dbo"."new" "source"
      WHERE
        (
          REPLACE(UPPER(TRIM(' ' FROM CAST("source"."company" AS VARCHAR2(4000)))), 'ẞ', 'ß') IN (CAST(:p2 AS VARCHAR2(4000)))
          OR REPLACE(UPPER(TRIM(' ' FROM CAST("source"."company" AS VARCHAR2(4000)))), 'ẞ', 'ß') IS NULL
        )
        AND RTRIM(
          RTRIM(TO_CHAR(CAST("source"."moment" AS TIMESTAMP), 'YYYY-MM-DD HH24:MI:SS.FF6'), '0'),
          '.'
        ) >= CAST(:p3 AS VARCHAR2(4000))
    ) "rows"
    GROUP BY
      "key_0",
      "key_1",
      "key_2"
  ) "side"
), "groups" AS (
  SELECT
    "key_0",
    "key_1",
    "key_2",
    MAX("rows_a") AS "rows_a",
    CAST(MAX("a_0") AS NUMBER(38, 2)) AS "a_0",
    CAST(MAX("a_1") AS NUMBER(38, 8)) AS "a_1",
    CAST(MAX("a_2") AS NUMBER(38, 0)) AS "a_2",
    MAX("rows_b") AS "rows_b",
    CAST(MAX("b_0") AS NUMBER(38, 2)) AS "b_0",
    CAST(MAX("b_1") AS NUMBER(38, 8)) AS "b_1",
    CAST(MAX("b_2") AS NUMBER(38, 0)) AS "b_2"
  FROM "both"
  GROUP BY
    "key_0",
    "key_1",
    "key_2"
)
SELECT
  "same",
  CASE WHEN "same" = 0 THEN "key_0" END AS "key_0",
  CASE WHEN "same" = 0 THEN "key_1" END AS "key_1",
  CASE WHEN "same" = 0 THEN "key_2" END AS "key_2",
  COUNT(*) AS "together",
  COUNT(CASE WHEN "rows_a" > 1 THEN 1 END) AS "repeated",
  CAST(SUM("rows_a") AS INT) AS "rows_a",
  CAST(SUM("rows_b") AS INT) AS "rows_b",
  CAST(SUM("a_0") AS NUMBER(38, 2)) AS "a_0",
  CAST(SUM("b_0") AS NUMBER(38, 2)) AS "b_0",
  CAST(SUM("a_1") AS NUMBER(38, 8)) AS "a_1",
  CAST(SUM("b_1") AS NUMBER(38, 8)) AS "b_1",
  CAST(SUM("a_2") AS NUMBER(38, 0)) AS "a_2",
  CAST(SUM("b_2") AS NUMBER(38, 0)) AS "b_2"
FROM (
  SELECT
    *,
    CASE
      WHEN "rows_a" IS NOT DISTINCT FROM "rows_b"
      AND "a_0" IS NOT DISTINCT FROM "b_0"
      AND "a_1" IS NOT DISTINCT FROM "b_1"
      AND "a_2" IS NOT DISTINCT FROM "b_2"
      THEN 1
      ELSE 0
    END AS "same"
  FROM "groups"
) "marked"
GROUP BY
  "same",
  CASE WHEN "same" = 0 THEN "key_0" END,
  CASE WHEN "same" = 0 THEN "key_1" END,
  CASE WHEN "same" = 0 THEN "key_2" END;
