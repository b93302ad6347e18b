WITH `both` AS (
  SELECT
    REPLACE(
      UPPER(REPLACE(TRIM(' ' FROM CAST(`source`.`company` AS STRING)), 'ß', 'ẞ')),
      'ẞ',
      'ß'
    ) AS `key_0`,
    DATE_FORMAT(`source`.`day`, 'yyyy-MM') AS `key_1`,
    CAST(`source`.`moment` AS STRING) AS `key_2`,
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
  UNION ALL
  SELECT
    REPLACE(
      UPPER(REPLACE(TRIM(' ' FROM CAST(`source`.`company` AS STRING)), 'ß', 'ẞ')),
      'ẞ',
      'ß'
    ) AS `key_0`,
    DATE_FORMAT(`source`.`day`, 'yyyy-MM') AS `key_1`,
    CAST(`source`.`moment` AS STRING) AS `key_2`,
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
), `groups` AS (
  SELECT
    `key_0`,
    `key_1`,
    `key_2`,
    COUNT(`rows_a`) AS `rows_a`,
    COUNT(`rows_b`) AS `rows_b`,
    CAST(SUM(`a_0`) AS DECIMAL(38, 2)) AS `a_0`,
    CAST(SUM(`b_0`) AS DECIMAL(38, 2)) AS `b_0`,
    CAST(CAST(CASE
      WHEN CAST(CAST(SUM(`a_1`) AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0)) > 0
      THEN 1
      WHEN CAST(CAST(SUM(`a_1`) AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0)) < 0
      THEN -1
      WHEN CAST(CAST(SUM(`a_1`) AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0)) = 0
      THEN 0
    END * (
      CAST((
        (
          (
            2 * ABS(
              CAST(CAST(SUM(`a_1`) AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0))
            ) + NULLIF(COUNT(`a_1`), 0)
          )
        ) - (
          (
            2 * ABS(
              CAST(CAST(SUM(`a_1`) AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0))
            ) + NULLIF(COUNT(`a_1`), 0)
          )
        ) % (
          (
            2 * NULLIF(COUNT(`a_1`), 0)
          )
        )
      ) / (
        (
          2 * NULLIF(COUNT(`a_1`), 0)
        )
      ) AS DECIMAL(38, 0))
    ) AS DECIMAL(38, 0)) * CAST('1e-8' AS DECIMAL(9, 8)) AS DECIMAL(38, 8)) AS `a_1`,
    CAST(CAST(CASE
      WHEN CAST(CAST(SUM(`b_1`) AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0)) > 0
      THEN 1
      WHEN CAST(CAST(SUM(`b_1`) AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0)) < 0
      THEN -1
      WHEN CAST(CAST(SUM(`b_1`) AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0)) = 0
      THEN 0
    END * (
      CAST((
        (
          (
            2 * ABS(
              CAST(CAST(SUM(`b_1`) AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0))
            ) + NULLIF(COUNT(`b_1`), 0)
          )
        ) - (
          (
            2 * ABS(
              CAST(CAST(SUM(`b_1`) AS DECIMAL(38, 2)) * CAST(100000000 AS DECIMAL(9, 0)) AS DECIMAL(38, 0))
            ) + NULLIF(COUNT(`b_1`), 0)
          )
        ) % (
          (
            2 * NULLIF(COUNT(`b_1`), 0)
          )
        )
      ) / (
        (
          2 * NULLIF(COUNT(`b_1`), 0)
        )
      ) AS DECIMAL(38, 0))
    ) AS DECIMAL(38, 0)) * CAST('1e-8' AS DECIMAL(9, 8)) AS DECIMAL(38, 8)) AS `b_1`,
    CAST(CASE WHEN COUNT(`rows_a`) > 0 THEN CAST(COUNT(`a_2`) AS DECIMAL(38, 0)) END AS DECIMAL(38, 0)) AS `a_2`,
    CAST(CASE WHEN COUNT(`rows_b`) > 0 THEN CAST(COUNT(`b_2`) AS DECIMAL(38, 0)) END AS DECIMAL(38, 0)) AS `b_2`
  FROM `both`
  GROUP BY
    `key_0`,
    `key_1`,
    `key_2`
), `collapsed` AS (
  SELECT
    `same`,
    CASE WHEN `same` = 0 THEN `key_0` END AS `key_0`,
    CASE WHEN `same` = 0 THEN `key_1` END AS `key_1`,
    CASE WHEN `same` = 0 THEN `key_2` END AS `key_2`,
    COUNT(*) AS `together`,
    COUNT(CASE WHEN `rows_a` > 1 THEN 1 END) AS `repeated`,
    CAST(SUM(`rows_a`) AS BIGINT) AS `rows_a`,
    CAST(SUM(`rows_b`) AS BIGINT) AS `rows_b`,
    CAST(SUM(`a_0`) AS DECIMAL(38, 2)) AS `a_0`,
    CAST(SUM(`b_0`) AS DECIMAL(38, 2)) AS `b_0`,
    CAST(SUM(`a_1`) AS DECIMAL(38, 8)) AS `a_1`,
    CAST(SUM(`b_1`) AS DECIMAL(38, 8)) AS `b_1`,
    CAST(SUM(`a_2`) AS DECIMAL(38, 0)) AS `a_2`,
    CAST(SUM(`b_2`) AS DECIMAL(38, 0)) AS `b_2`
  FROM (
    SELECT
      *,
      CASE
        WHEN `rows_a` = `rows_b`
        AND (
          `a_0` = `b_0` OR (
            `a_0` IS NULL AND `b_0` IS NULL
          )
        )
        AND (
          `a_1` = `b_1` OR (
            `a_1` IS NULL AND `b_1` IS NULL
          )
        )
        AND (
          `a_2` = `b_2` OR (
            `a_2` IS NULL AND `b_2` IS NULL
          )
        )
        THEN 1
        ELSE 0
      END AS `same`
    FROM `groups`
  ) AS `marked`
  GROUP BY
    `same`,
    CASE WHEN `same` = 0 THEN `key_0` END,
    CASE WHEN `same` = 0 THEN `key_1` END,
    CASE WHEN `same` = 0 THEN `key_2` END
), `equal` AS (
  SELECT
    CAST(SUM(`together`) AS DECIMAL(38, 0)) AS `equal_groups`,
    CAST(SUM(`rows_a`) AS DECIMAL(38, 0)) AS `equal_rows`,
    CAST(SUM(`repeated`) AS DECIMAL(38, 0)) AS `equal_repeated`,
    CAST(SUM(`a_0`) AS DECIMAL(38, 2)) AS `equal_total_0`,
    CAST(SUM(`a_1`) AS DECIMAL(38, 8)) AS `equal_total_1`,
    CAST(SUM(`a_2`) AS DECIMAL(38, 0)) AS `equal_total_2`
  FROM `collapsed`
  WHERE
    `same` = 1
), `classified` AS (
  SELECT
    *,
    CASE
      WHEN `rows_a` = 0
      THEN 'missing_in_a'
      WHEN `rows_b` = 0
      THEN 'missing_in_b'
      WHEN `a_0` = `b_0`
      THEN 'match'
      WHEN (
        `a_0` IS NULL
      ) AND (
        `b_0` IS NULL
      )
      THEN 'match'
      WHEN (
        `a_0` IS NULL
      ) OR (
        `b_0` IS NULL
      )
      THEN 'major_diff'
      WHEN ABS(`b_0` - `a_0`) * 100 <= :p4 * ABS(`a_0`)
      THEN 'match'
      WHEN ABS(`b_0` - `a_0`) <= :p5
      AND (
        `a_0` = 0 OR ABS(`b_0` - `a_0`) * 100 <= :p6 * ABS(`a_0`)
      )
      THEN 'minor_diff'
      ELSE 'major_diff'
    END AS `status_0`,
    COALESCE(`b_0`, 0) - COALESCE(`a_0`, 0) AS `gap_0`,
    CASE
      WHEN `rows_a` = 0
      THEN 'missing_in_a'
      WHEN `rows_b` = 0
      THEN 'missing_in_b'
      WHEN `a_1` = `b_1`
      THEN 'match'
      WHEN (
        `a_1` IS NULL
      ) AND (
        `b_1` IS NULL
      )
      THEN 'match'
      WHEN (
        `a_1` IS NULL
      ) OR (
        `b_1` IS NULL
      )
      THEN 'major_diff'
      WHEN ABS(`b_1` - `a_1`) * 100 <= :p7 * ABS(`a_1`)
      THEN 'match'
      WHEN ABS(`b_1` - `a_1`) <= :p8
      AND (
        `a_1` = 0 OR ABS(`b_1` - `a_1`) * 100 <= :p9 * ABS(`a_1`)
      )
      THEN 'minor_diff'
      ELSE 'major_diff'
    END AS `status_1`,
    COALESCE(`b_1`, 0) - COALESCE(`a_1`, 0) AS `gap_1`,
    CASE
      WHEN `rows_a` = 0
      THEN 'missing_in_a'
      WHEN `rows_b` = 0
      THEN 'missing_in_b'
      WHEN `a_2` = `b_2`
      THEN 'match'
      WHEN (
        `a_2` IS NULL
      ) AND (
        `b_2` IS NULL
      )
      THEN 'match'
      WHEN (
        `a_2` IS NULL
      ) OR (
        `b_2` IS NULL
      )
      THEN 'major_diff'
      WHEN ABS(`b_2` - `a_2`) * 100 <= :p10 * ABS(`a_2`)
      THEN 'match'
      WHEN ABS(`b_2` - `a_2`) <= :p11
      AND (
        `a_2` = 0 OR ABS(`b_2` - `a_2`) * 100 <= :p12 * ABS(`a_2`)
      )
      THEN 'minor_diff'
      ELSE 'major_diff'
    END AS `status_2`,
    COALESCE(`b_2`, 0) - COALESCE(`a_2`, 0) AS `gap_2`
  FROM `collapsed`
  WHERE
    `same` = 0
), `different` AS (
  SELECT
    *,
    CASE
      WHEN `rows_a` = 0
      THEN 'missing_in_a'
      WHEN `rows_b` = 0
      THEN 'missing_in_b'
      WHEN `status_0` = 'major_diff'
      OR `status_1` = 'major_diff'
      OR `status_2` = 'major_diff'
      THEN 'major_diff'
      WHEN `status_0` = 'minor_diff'
      OR `status_1` = 'minor_diff'
      OR `status_2` = 'minor_diff'
      THEN 'minor_diff'
      ELSE 'match'
    END AS `status`
  FROM `classified`
), `missing` AS (
  SELECT
    *
  FROM `different`
  WHERE
    `status` = 'missing_in_a' OR `status` = 'missing_in_b'
), `summary` AS (
  SELECT
    COUNT(CASE WHEN `status` = 'match' THEN 1 END) AS `match`,
    COUNT(CASE WHEN `status` = 'minor_diff' THEN 1 END) AS `minor_diff`,
    COUNT(CASE WHEN `status` = 'major_diff' THEN 1 END) AS `major_diff`,
    COUNT(CASE WHEN `status` = 'missing_in_a' THEN 1 END) AS `missing_in_a`,
    COUNT(CASE WHEN `status` = 'missing_in_b' THEN 1 END) AS `missing_in_b`,
    CAST(SUM(`rows_a`) AS DECIMAL(38, 0)) AS `all_rows_a`,
    CAST(SUM(`rows_b`) AS DECIMAL(38, 0)) AS `all_rows_b`,
    COUNT(CASE WHEN `rows_a` > 0 AND `rows_b` > 0 AND `rows_a` <> `rows_b` THEN 1 END) AS `uneven`,
    COUNT(CASE WHEN `status` = 'match' AND `rows_a` <> `rows_b` THEN 1 END) AS `uneven_matches`,
    COUNT(CASE WHEN `rows_a` > 1 THEN 1 END) AS `repeated_a`,
    COUNT(CASE WHEN `rows_b` > 1 THEN 1 END) AS `repeated_b`,
    COUNT(CASE WHEN `status_0` = 'match' THEN 1 END) AS `match_0`,
    COUNT(CASE WHEN `status_0` = 'minor_diff' THEN 1 END) AS `minor_diff_0`,
    COUNT(CASE WHEN `status_0` = 'major_diff' THEN 1 END) AS `major_diff_0`,
    COUNT(CASE WHEN `status_0` = 'missing_in_a' THEN 1 END) AS `missing_in_a_0`,
    COUNT(CASE WHEN `status_0` = 'missing_in_b' THEN 1 END) AS `missing_in_b_0`,
    CAST(SUM(`a_0`) AS DECIMAL(38, 2)) AS `total_a_0`,
    CAST(SUM(`b_0`) AS DECIMAL(38, 2)) AS `total_b_0`,
    CAST(SUM(`gap_0`) AS DECIMAL(38, 2)) AS `net_0`,
    CAST(SUM(ABS(`gap_0`)) AS DECIMAL(38, 2)) AS `gross_0`,
    COUNT(
      CASE
        WHEN NOT `status_0` = 'missing_in_a'
        AND NOT `status_0` = 'missing_in_b'
        AND (
          `a_0` IS NULL
        )
        AND NOT (
          `b_0` IS NULL
        )
        THEN 1
      END
    ) AS `null_in_a_0`,
    COUNT(
      CASE
        WHEN NOT `status_0` = 'missing_in_a'
        AND NOT `status_0` = 'missing_in_b'
        AND (
          `b_0` IS NULL
        )
        AND NOT (
          `a_0` IS NULL
        )
        THEN 1
      END
    ) AS `null_in_b_0`,
    COUNT(CASE WHEN NOT `a_0` = 0 AND `b_0` = -`a_0` THEN 1 END) AS `opposite_0`,
    COUNT(
      CASE
        WHEN (
          NOT `rows_b` = 0 AND `rows_a` = 2 * `rows_b`
        )
        AND (
          NOT `b_0` = 0 AND `a_0` = 2 * `b_0`
        )
        THEN 1
      END
    ) AS `doubled_in_a_0`,
    COUNT(
      CASE
        WHEN (
          NOT `rows_a` = 0 AND `rows_b` = 2 * `rows_a`
        )
        AND (
          NOT `a_0` = 0 AND `b_0` = 2 * `a_0`
        )
        THEN 1
      END
    ) AS `doubled_in_b_0`,
    COUNT(CASE WHEN `status_1` = 'match' THEN 1 END) AS `match_1`,
    COUNT(CASE WHEN `status_1` = 'minor_diff' THEN 1 END) AS `minor_diff_1`,
    COUNT(CASE WHEN `status_1` = 'major_diff' THEN 1 END) AS `major_diff_1`,
    COUNT(CASE WHEN `status_1` = 'missing_in_a' THEN 1 END) AS `missing_in_a_1`,
    COUNT(CASE WHEN `status_1` = 'missing_in_b' THEN 1 END) AS `missing_in_b_1`,
    CAST(SUM(`a_1`) AS DECIMAL(38, 8)) AS `total_a_1`,
    CAST(SUM(`b_1`) AS DECIMAL(38, 8)) AS `total_b_1`,
    CAST(SUM(`gap_1`) AS DECIMAL(38, 8)) AS `net_1`,
    CAST(SUM(ABS(`gap_1`)) AS DECIMAL(38, 8)) AS `gross_1`,
    COUNT(
      CASE
        WHEN NOT `status_1` = 'missing_in_a'
        AND NOT `status_1` = 'missing_in_b'
        AND (
          `a_1` IS NULL
        )
        AND NOT (
          `b_1` IS NULL
        )
        THEN 1
      END
    ) AS `null_in_a_1`,
    COUNT(
      CASE
        WHEN NOT `status_1` = 'missing_in_a'
        AND NOT `status_1` = 'missing_in_b'
        AND (
          `b_1` IS NULL
        )
        AND NOT (
          `a_1` IS NULL
        )
        THEN 1
      END
    ) AS `null_in_b_1`,
    COUNT(CASE WHEN NOT `a_1` = 0 AND `b_1` = -`a_1` THEN 1 END) AS `opposite_1`,
    COUNT(CASE WHEN `status_2` = 'match' THEN 1 END) AS `match_2`,
    COUNT(CASE WHEN `status_2` = 'minor_diff' THEN 1 END) AS `minor_diff_2`,
    COUNT(CASE WHEN `status_2` = 'major_diff' THEN 1 END) AS `major_diff_2`,
    COUNT(CASE WHEN `status_2` = 'missing_in_a' THEN 1 END) AS `missing_in_a_2`,
    COUNT(CASE WHEN `status_2` = 'missing_in_b' THEN 1 END) AS `missing_in_b_2`,
    CAST(SUM(`a_2`) AS DECIMAL(38, 0)) AS `total_a_2`,
    CAST(SUM(`b_2`) AS DECIMAL(38, 0)) AS `total_b_2`,
    CAST(SUM(`gap_2`) AS DECIMAL(38, 0)) AS `net_2`,
    CAST(SUM(ABS(`gap_2`)) AS DECIMAL(38, 0)) AS `gross_2`,
    COUNT(
      CASE
        WHEN NOT `status_2` = 'missing_in_a'
        AND NOT `status_2` = 'missing_in_b'
        AND (
          `a_2` IS NULL
        )
        AND NOT (
          `b_2` IS NULL
        )
        THEN 1
      END
    ) AS `null_in_a_2`,
    COUNT(
      CASE
        WHEN NOT `status_2` = 'missing_in_a'
        AND NOT `status_2` = 'missing_in_b'
        AND (
          `b_2` IS NULL
        )
        AND NOT (
          `a_2` IS NULL
        )
        THEN 1
      END
    ) AS `null_in_b_2`,
    COUNT(CASE WHEN NOT `a_2` = 0 AND `b_2` = -`a_2` THEN 1 END) AS `opposite_2`,
    (
      SELECT
        COUNT(*)
      FROM (
        SELECT
          1 AS `one`
        FROM `missing`
        GROUP BY
          TRIM(' ' FROM `key_0`),
          TRIM(' ' FROM `key_1`),
          TRIM(' ' FROM `key_2`)
        HAVING
          SUM(`rows_a`) > 0 AND SUM(`rows_b`) > 0
      ) AS `matching`
    ) AS `near_spaces`,
    (
      SELECT
        COUNT(*)
      FROM (
        SELECT
          1 AS `one`
        FROM `missing`
        GROUP BY
          REPLACE(UPPER(REPLACE(`key_0`, 'ß', 'ẞ')), 'ẞ', 'ß'),
          REPLACE(UPPER(REPLACE(`key_1`, 'ß', 'ẞ')), 'ẞ', 'ß'),
          REPLACE(UPPER(REPLACE(`key_2`, 'ß', 'ẞ')), 'ẞ', 'ß')
        HAVING
          SUM(`rows_a`) > 0 AND SUM(`rows_b`) > 0
      ) AS `matching`
    ) AS `near_case`,
    (
      SELECT
        COUNT(*)
      FROM (
        SELECT
          1 AS `one`
        FROM `missing`
        GROUP BY
          TRIM(LEADING '0' FROM `key_0`),
          TRIM(LEADING '0' FROM `key_1`),
          TRIM(LEADING '0' FROM `key_2`)
        HAVING
          SUM(`rows_a`) > 0 AND SUM(`rows_b`) > 0
      ) AS `matching`
    ) AS `near_zeros`,
    (
      SELECT
        COUNT(*)
      FROM (
        SELECT
          1 AS `one`
        FROM `missing`
        GROUP BY
          `key_0`,
          `key_1`,
          `key_2`
        HAVING
          SUM(`rows_a`) > 0 AND SUM(`rows_b`) > 0
      ) AS `matching`
    ) AS `near_unicode`
  FROM `different`
), `top` AS (
  SELECT
    0 AS `measure`,
    `key_0`,
    `key_1`,
    `key_2`,
    `rows_a`,
    `rows_b`,
    `a_0`,
    `b_0`,
    `status_0`,
    `a_1`,
    `b_1`,
    `status_1`,
    `a_2`,
    `b_2`,
    `status_2`
  FROM (
    SELECT
      *
    FROM `different`
    WHERE
      NOT `status_0` = 'match'
    ORDER BY
      ABS(`gap_0`) DESC,
      `key_0` NULLS LAST,
      `key_1` NULLS LAST,
      `key_2` NULLS LAST
    LIMIT 10
  ) AS `largest`
  UNION ALL
  SELECT
    1 AS `measure`,
    `key_0`,
    `key_1`,
    `key_2`,
    `rows_a`,
    `rows_b`,
    `a_0`,
    `b_0`,
    `status_0`,
    `a_1`,
    `b_1`,
    `status_1`,
    `a_2`,
    `b_2`,
    `status_2`
  FROM (
    SELECT
      *
    FROM `different`
    WHERE
      NOT `status_1` = 'match'
    ORDER BY
      ABS(`gap_1`) DESC,
      `key_0` NULLS LAST,
      `key_1` NULLS LAST,
      `key_2` NULLS LAST
    LIMIT 10
  ) AS `largest`
  UNION ALL
  SELECT
    2 AS `measure`,
    `key_0`,
    `key_1`,
    `key_2`,
    `rows_a`,
    `rows_b`,
    `a_0`,
    `b_0`,
    `status_0`,
    `a_1`,
    `b_1`,
    `status_1`,
    `a_2`,
    `b_2`,
    `status_2`
  FROM (
    SELECT
      *
    FROM `different`
    WHERE
      NOT `status_2` = 'match'
    ORDER BY
      ABS(`gap_2`) DESC,
      `key_0` NULLS LAST,
      `key_1` NULLS LAST,
      `key_2` NULLS LAST
    LIMIT 10
  ) AS `largest`
  UNION ALL
  SELECT
    -1 AS `measure`,
    `key_0`,
    `key_1`,
    `key_2`,
    `rows_a`,
    `rows_b`,
    `a_0`,
    `b_0`,
    `status_0`,
    `a_1`,
    `b_1`,
    `status_1`,
    `a_2`,
    `b_2`,
    `status_2`
  FROM (
    SELECT
      *
    FROM `different`
    WHERE
      `status` = 'match' AND `rows_a` <> `rows_b`
    ORDER BY
      `key_0` NULLS LAST,
      `key_1` NULLS LAST,
      `key_2` NULLS LAST
    LIMIT 3
  ) AS `largest`
)
SELECT
  `equal`.`equal_groups`,
  `equal`.`equal_rows`,
  `equal`.`equal_repeated`,
  `equal`.`equal_total_0`,
  `equal`.`equal_total_1`,
  `equal`.`equal_total_2`,
  `summary`.`match`,
  `summary`.`minor_diff`,
  `summary`.`major_diff`,
  `summary`.`missing_in_a`,
  `summary`.`missing_in_b`,
  `summary`.`all_rows_a`,
  `summary`.`all_rows_b`,
  `summary`.`uneven`,
  `summary`.`uneven_matches`,
  `summary`.`repeated_a`,
  `summary`.`repeated_b`,
  `summary`.`match_0`,
  `summary`.`minor_diff_0`,
  `summary`.`major_diff_0`,
  `summary`.`missing_in_a_0`,
  `summary`.`missing_in_b_0`,
  `summary`.`total_a_0`,
  `summary`.`total_b_0`,
  `summary`.`net_0`,
  `summary`.`gross_0`,
  `summary`.`null_in_a_0`,
  `summary`.`null_in_b_0`,
  `summary`.`opposite_0`,
  `summary`.`doubled_in_a_0`,
  `summary`.`doubled_in_b_0`,
  `summary`.`match_1`,
  `summary`.`minor_diff_1`,
  `summary`.`major_diff_1`,
  `summary`.`missing_in_a_1`,
  `summary`.`missing_in_b_1`,
  `summary`.`total_a_1`,
  `summary`.`total_b_1`,
  `summary`.`net_1`,
  `summary`.`gross_1`,
  `summary`.`null_in_a_1`,
  `summary`.`null_in_b_1`,
  `summary`.`opposite_1`,
  `summary`.`match_2`,
  `summary`.`minor_diff_2`,
  `summary`.`major_diff_2`,
  `summary`.`missing_in_a_2`,
  `summary`.`missing_in_b_2`,
  `summary`.`total_a_2`,
  `summary`.`total_b_2`,
  `summary`.`net_2`,
  `summary`.`gross_2`,
  `summary`.`null_in_a_2`,
  `summary`.`null_in_b_2`,
  `summary`.`opposite_2`,
  `summary`.`near_spaces`,
  `summary`.`near_case`,
  `summary`.`near_zeros`,
  `summary`.`near_unicode`,
  `top`.`measure`,
  `top`.`key_0`,
  `top`.`key_1`,
  `top`.`key_2`,
  `top`.`rows_a`,
  `top`.`rows_b`,
  `top`.`a_0`,
  `top`.`b_0`,
  `top`.`status_0`,
  `top`.`a_1`,
  `top`.`b_1`,
  `top`.`status_1`,
  `top`.`a_2`,
  `top`.`b_2`,
  `top`.`status_2`
FROM `summary`
CROSS JOIN `equal`
LEFT JOIN `top`
  ON TRUE;
