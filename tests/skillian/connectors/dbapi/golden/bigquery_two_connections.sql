SELECT
  `key_0`,
  `key_1`,
  `key_2`,
  COUNT(*) AS `row_count`,
  CAST((
    SUM(CAST(`value_0` AS BIGNUMERIC))
  ) AS NUMERIC) AS `total_0`,
  CAST(CAST(SIGN(
    (
      CAST(CAST((
        SUM(CAST(`value_1` AS BIGNUMERIC))
      ) AS NUMERIC) * CAST(1000000000000000 AS NUMERIC) AS BIGNUMERIC)
    )
  ) * (
    (
      DIV(
        CAST((
          2 * ABS(
            (
              CAST(CAST((
                SUM(CAST(`value_1` AS BIGNUMERIC))
              ) AS NUMERIC) * CAST(1000000000000000 AS NUMERIC) AS BIGNUMERIC)
            )
          ) + NULLIF(COUNT(`value_1`), 0)
        ) AS BIGNUMERIC),
        CAST((
          2 * NULLIF(COUNT(`value_1`), 0)
        ) AS BIGNUMERIC)
      )
    )
  ) AS BIGNUMERIC) * CAST('1e-15' AS BIGNUMERIC) AS BIGNUMERIC) AS `total_1`,
  CAST(COUNT(`value_2`) AS BIGNUMERIC) AS `total_2`
FROM (
  SELECT
    REPLACE(UPPER(TRIM((
      CAST(`source`.`company` AS STRING)
    ), ' ')), 'ẞ', 'ß') AS `key_0`,
    FORMAT_DATE('%%Y-%%m', `source`.`day`) AS `key_1`,
    (
      RTRIM(RTRIM(FORMAT_DATETIME('%%F %%H:%%M:%%E6S', `source`.`moment`), '0'), '.')
    ) AS `key_2`,
    `source`.`amount` AS `value_0`,
    `source`.`amount` AS `value_1`,
    `source`.`company` AS `value_2`
  FROM `dbo`.`new` AS `source`
  WHERE
    (
      REPLACE(UPPER(TRIM((
        CAST(`source`.`company` AS STRING)
      ), ' ')), 'ẞ', 'ß') IN ((
          CAST(%(p2)s AS STRING)
      ))
      OR REPLACE(UPPER(TRIM((
        CAST(`source`.`company` AS STRING)
      ), ' ')), 'ẞ', 'ß') IS NULL
    )
    AND (
      RTRIM(RTRIM(FORMAT_DATETIME('%%F %%H:%%M:%%E6S', `source`.`moment`), '0'), '.')
    ) >= (
      CAST(%(p3)s AS STRING)
    )
) AS `rows`
GROUP BY
  `key_0`,
  `key_1`,
  `key_2`;

SELECT
  `key_0`,
  `key_1`,
  `key_2`,
  COUNT(*) AS `row_count`,
  CAST((
    SUM(CAST(`value_0` AS BIGNUMERIC))
  ) AS NUMERIC) AS `total_0`,
  CAST(CAST(SIGN(
    (
      CAST(CAST((
        SUM(CAST(`value_1` AS BIGNUMERIC))
      ) AS NUMERIC) * CAST(1000000000000000 AS NUMERIC) AS BIGNUMERIC)
    )
  ) * (
    (
      DIV(
        CAST((
          2 * ABS(
            (
              CAST(CAST((
                SUM(CAST(`value_1` AS BIGNUMERIC))
              ) AS NUMERIC) * CAST(1000000000000000 AS NUMERIC) AS BIGNUMERIC)
            )
          ) + NULLIF(COUNT(`value_1`), 0)
        ) AS BIGNUMERIC),
        CAST((
          2 * NULLIF(COUNT(`value_1`), 0)
        ) AS BIGNUMERIC)
      )
    )
  ) AS BIGNUMERIC) * CAST('1e-15' AS BIGNUMERIC) AS BIGNUMERIC) AS `total_1`,
  CAST(COUNT(`value_2`) AS BIGNUMERIC) AS `total_2`
FROM (
  SELECT
    REPLACE(UPPER(TRIM((
      CAST(`source`.`company` AS STRING)
    ), ' ')), 'ẞ', 'ß') AS `key_0`,
    FORMAT_DATE('%%Y-%%m', `source`.`day`) AS `key_1`,
    (
      RTRIM(RTRIM(FORMAT_DATETIME('%%F %%H:%%M:%%E6S', `source`.`moment`), '0'), '.')
    ) AS `key_2`,
    `source`.`amount` AS `value_0`,
    `source`.`amount` AS `value_1`,
    `source`.`company` AS `value_2`
  FROM `dbo`.`old` AS `source`
  WHERE
    (
      REPLACE(UPPER(TRIM((
        CAST(`source`.`company` AS STRING)
      ), ' ')), 'ẞ', 'ß') IN ((
          CAST(%(p0)s AS STRING)
      ))
      OR REPLACE(UPPER(TRIM((
        CAST(`source`.`company` AS STRING)
      ), ' ')), 'ẞ', 'ß') IS NULL
    )
    AND (
      RTRIM(RTRIM(FORMAT_DATETIME('%%F %%H:%%M:%%E6S', `source`.`moment`), '0'), '.')
    ) >= (
      CAST(%(p1)s AS STRING)
    )
) AS `rows`
GROUP BY
  `key_0`,
  `key_1`,
  `key_2`;
