WITH `both` AS (
  SELECT
    REPLACE(UPPER(TRIM(CAST(`source`.`company` AS STRING), ' ')), 'ẞ', 'ß') AS `key_0`,
    FORMAT_DATE('%%Y-%%m', `source`.`day`) AS `key_1`,
    RTRIM(RTRIM(FORMAT_DATETIME('%%F %%H:%%M:%%E6S', `source`.`moment`), '0'), '.') AS `key_2`,
    1 AS `rows_a`,
    NULL AS `rows_b`,
    `source`.`amount` AS `a_0`,
    NULL AS `b_0`,
    `source`.`amount` AS `a_1`,
    NULL AS `b_1`,
    `source`.`company` AS `a_2`,
    NULL AS `b_2`
  FROM `dbo`.`old` AS `source`
  WHERE
    (
      REPLACE(UPPER(TRIM(CAST(`source`.`company` AS STRING), ' ')), 'ẞ', 'ß') IN (CAST(%(p0)s AS STRING))
      OR REPLACE(UPPER(TRIM(CAST(`source`.`company` AS STRING), ' ')), 'ẞ', 'ß') IS NULL
    )
    AND RTRIM(RTRIM(FORMAT_DATETIME('%%F %%H:%%M:%%E6S', `source`.`moment`), '0'), '.') >= CAST(%(p1)s AS STRING)
  UNION ALL
  SELECT
    REPLACE(UPPER(TRIM(CAST(`source`.`company` AS STRING), ' ')), 'ẞ', 'ß') AS `key_0`,
    FORMAT_DATE('%%Y-%%m', `source`.`day`) AS `key_1`,
    RTRIM(RTRIM(FORMAT_DATETIME('%%F %%H:%%M:%%E6S', `source`.`moment`), '0'), '.') AS `key_2`,
    NULL AS `rows_a`,
    1 AS `rows_b`,
    NULL AS `a_0`,
    `source`.`amount` AS `b_0`,
    NULL AS `a_1`,
    `source`.`amount` AS `b_1`,
    NULL AS `a_2`,
    `source`.`company` AS `b_2`
  FROM `dbo`.`new` AS `source`
  WHERE
    (
      REPLACE(UPPER(TRIM(CAST(`source`.`company` AS STRING), ' ')), 'ẞ', 'ß') IN (CAST(%(p2)s AS STRING))
      OR REPLACE(UPPER(TRIM(CAST(`source`.`company` AS STRING), ' ')), 'ẞ', 'ß') IS NULL
    )
    AND RTRIM(RTRIM(FORMAT_DATETIME('%%F %%H:%%M:%%E6S', `source`.`moment`), '0'), '.') >= CAST(%(p3)s AS STRING)
), `groups` AS (
  SELECT
    `key_0`,
    `key_1`,
    `key_2`,
    COUNT(`rows_a`) AS `rows_a`,
    COUNT(`rows_b`) AS `rows_b`,
    CAST(SUM(CAST(`a_0` AS BIGNUMERIC)) AS NUMERIC) AS `a_0`,
    CAST(SUM(CAST(`b_0` AS BIGNUMERIC)) AS NUMERIC) AS `b_0`,
    CAST(CAST(SIGN(
      CAST(CAST(SUM(CAST(`a_1` AS BIGNUMERIC)) AS NUMERIC) * CAST(1000000000000000 AS NUMERIC) AS BIGNUMERIC)
    ) * (
      (
        DIV(
          CAST((
            2 * ABS(
              CAST(CAST(SUM(CAST(`a_1` AS BIGNUMERIC)) AS NUMERIC) * CAST(1000000000000000 AS NUMERIC) AS BIGNUMERIC)
            ) + NULLIF(COUNT(`a_1`), 0)
          ) AS BIGNUMERIC),
          CAST((
            2 * NULLIF(COUNT(`a_1`), 0)
          ) AS BIGNUMERIC)
        )
      )
    ) AS BIGNUMERIC) * CAST('1e-15' AS BIGNUMERIC) AS BIGNUMERIC) AS `a_1`,
    CAST(CAST(SIGN(
      CAST(CAST(SUM(CAST(`b_1` AS BIGNUMERIC)) AS NUMERIC) * CAST(1000000000000000 AS NUMERIC) AS BIGNUMERIC)
    ) * (
      (
        DIV(
          CAST((
            2 * ABS(
              CAST(CAST(SUM(CAST(`b_1` AS BIGNUMERIC)) AS NUMERIC) * CAST(1000000000000000 AS NUMERIC) AS BIGNUMERIC)
            ) + NULLIF(COUNT(`b_1`), 0)
          ) AS BIGNUMERIC),
          CAST((
            2 * NULLIF(COUNT(`b_1`), 0)
          ) AS BIGNUMERIC)
        )
      )
    ) AS BIGNUMERIC) * CAST('1e-15' AS BIGNUMERIC) AS BIGNUMERIC) AS `b_1`,
    CAST(CASE WHEN COUNT(`rows_a`) > 0 THEN CAST(COUNT(`a_2`) AS BIGNUMERIC) END AS BIGNUMERIC) AS `a_2`,
    CAST(CASE WHEN COUNT(`rows_b`) > 0 THEN CAST(COUNT(`b_2`) AS BIGNUMERIC) END AS BIGNUMERIC) AS `b_2`
  FROM `both`
  GROUP BY
    `key_0`,
    `key_1`,
    `key_2`
)
SELECT
  `same`,
  CASE WHEN `same` = 0 THEN `key_0` END AS `key_0`,
  CASE WHEN `same` = 0 THEN `key_1` END AS `key_1`,
  CASE WHEN `same` = 0 THEN `key_2` END AS `key_2`,
  COUNT(*) AS `together`,
  COUNT(CASE WHEN `rows_a` > 1 THEN 1 END) AS `repeated`,
  CAST(SUM(CAST(`rows_a` AS BIGNUMERIC)) AS INT64) AS `rows_a`,
  CAST(SUM(CAST(`rows_b` AS BIGNUMERIC)) AS INT64) AS `rows_b`,
  CAST(SUM(CAST(`a_0` AS BIGNUMERIC)) AS NUMERIC) AS `a_0`,
  CAST(SUM(CAST(`b_0` AS BIGNUMERIC)) AS NUMERIC) AS `b_0`,
  CAST(SUM(CAST(`a_1` AS BIGNUMERIC)) AS BIGNUMERIC) AS `a_1`,
  CAST(SUM(CAST(`b_1` AS BIGNUMERIC)) AS BIGNUMERIC) AS `b_1`,
  CAST(SUM(CAST(`a_2` AS BIGNUMERIC)) AS BIGNUMERIC) AS `a_2`,
  CAST(SUM(CAST(`b_2` AS BIGNUMERIC)) AS BIGNUMERIC) AS `b_2`
FROM (
  SELECT
    *,
    CASE
      WHEN `rows_a` IS NOT DISTINCT FROM `rows_b`
      AND `a_0` IS NOT DISTINCT FROM `b_0`
      AND `a_1` IS NOT DISTINCT FROM `b_1`
      AND `a_2` IS NOT DISTINCT FROM `b_2`
      THEN 1
      ELSE 0
    END AS `same`
  FROM `groups`
) AS `marked`
GROUP BY
  `same`,
  CASE WHEN `same` = 0 THEN `key_0` END,
  CASE WHEN `same` = 0 THEN `key_1` END,
  CASE WHEN `same` = 0 THEN `key_2` END;
