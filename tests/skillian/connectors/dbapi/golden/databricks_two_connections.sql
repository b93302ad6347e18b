SELECT
  `key_0`,
  `key_1`,
  `key_2`,
  COUNT(*) AS `row_count`,
  CAST(SUM(`value_0`) AS DECIMAL(38, 2)) AS `total_0`,
  CAST(CAST(CASE
    WHEN CAST(CAST(SUM(`value_1`) AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0)) > 0
    THEN 1
    WHEN CAST(CAST(SUM(`value_1`) AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0)) < 0
    THEN -1
    WHEN CAST(CAST(SUM(`value_1`) AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0)) = 0
    THEN 0
  END * (
    CAST((
      (
        (
          2 * ABS(
            CAST(CAST(SUM(`value_1`) AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0))
          ) + NULLIF(COUNT(`value_1`), 0)
        )
      ) - (
        (
          2 * ABS(
            CAST(CAST(SUM(`value_1`) AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0))
          ) + NULLIF(COUNT(`value_1`), 0)
        )
      ) % (
        (
          2 * NULLIF(COUNT(`value_1`), 0)
        )
      )
    ) / (
      (
        2 * NULLIF(COUNT(`value_1`), 0)
      )
    ) AS DECIMAL(38, 0))
  ) AS DECIMAL(38, 0)) * CAST('1e-8' AS DECIMAL(9, 8)) AS DECIMAL(38, 8)) AS `total_1`,
  CAST(COUNT(`value_2`) AS DECIMAL(38, 0)) AS `total_2`
FROM (
  SELECT
    REPLACE(
      UPPER(REPLACE(TRIM(' ' FROM CAST(`source`.`company` AS STRING)), 'ß', 'ẞ')),
      'ẞ',
      'ß'
    ) AS `key_0`,
    DATE_FORMAT(`source`.`day`, 'yyyy-MM') AS `key_1`,
    CAST(`source`.`moment` AS STRING) AS `key_2`,
    `source`.`amount` AS `value_0`,
    `source`.`amount` AS `value_1`,
    `source`.`company` AS `value_2`
  FROM `dbo`.`new` AS `source`
  WHERE
    (
      REPLACE(
        UPPER(REPLACE(TRIM(' ' FROM CAST(`source`.`company` AS STRING)), 'ß', 'ẞ')),
        'ẞ',
        'ß'
      ) IN (CAST(:p2 AS STRING))
      OR REPLACE(
        UPPER(REPLACE(TRIM(' ' FROM CAST(`source`.`company` AS STRING)), 'ß', 'ẞ')),
        'ẞ',
        'ß'
      ) IS NULL
    )
    AND CAST(`source`.`moment` AS STRING) >= CAST(:p3 AS STRING)
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
  CAST(SUM(`value_0`) AS DECIMAL(38, 2)) AS `total_0`,
  CAST(CAST(CASE
    WHEN CAST(CAST(SUM(`value_1`) AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0)) > 0
    THEN 1
    WHEN CAST(CAST(SUM(`value_1`) AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0)) < 0
    THEN -1
    WHEN CAST(CAST(SUM(`value_1`) AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0)) = 0
    THEN 0
  END * (
    CAST((
      (
        (
          2 * ABS(
            CAST(CAST(SUM(`value_1`) AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0))
          ) + NULLIF(COUNT(`value_1`), 0)
        )
      ) - (
        (
          2 * ABS(
            CAST(CAST(SUM(`value_1`) AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0))
          ) + NULLIF(COUNT(`value_1`), 0)
        )
      ) % (
        (
          2 * NULLIF(COUNT(`value_1`), 0)
        )
      )
    ) / (
      (
        2 * NULLIF(COUNT(`value_1`), 0)
      )
    ) AS DECIMAL(38, 0))
  ) AS DECIMAL(38, 0)) * CAST('1e-8' AS DECIMAL(9, 8)) AS DECIMAL(38, 8)) AS `total_1`,
  CAST(COUNT(`value_2`) AS DECIMAL(38, 0)) AS `total_2`
FROM (
  SELECT
    REPLACE(
      UPPER(REPLACE(TRIM(' ' FROM CAST(`source`.`company` AS STRING)), 'ß', 'ẞ')),
      'ẞ',
      'ß'
    ) AS `key_0`,
    DATE_FORMAT(`source`.`day`, 'yyyy-MM') AS `key_1`,
    CAST(`source`.`moment` AS STRING) AS `key_2`,
    `source`.`amount` AS `value_0`,
    `source`.`amount` AS `value_1`,
    `source`.`company` AS `value_2`
  FROM `dbo`.`old` AS `source`
  WHERE
    (
      REPLACE(
        UPPER(REPLACE(TRIM(' ' FROM CAST(`source`.`company` AS STRING)), 'ß', 'ẞ')),
        'ẞ',
        'ß'
      ) IN (CAST(:p0 AS STRING))
      OR REPLACE(
        UPPER(REPLACE(TRIM(' ' FROM CAST(`source`.`company` AS STRING)), 'ß', 'ẞ')),
        'ẞ',
        'ß'
      ) IS NULL
    )
    AND CAST(`source`.`moment` AS STRING) >= CAST(:p1 AS STRING)
) AS `rows`
GROUP BY
  `key_0`,
  `key_1`,
  `key_2`;
