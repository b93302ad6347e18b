WITH [both] AS (
  SELECT
    REPLACE(
      UPPER(
        TRIM(' ' FROM (
          CAST([source].[company] AS NVARCHAR(4000)) COLLATE Latin1_General_100_BIN2
        ))
      ),
      'ẞ',
      'ß'
    ) AS [key_0],
    FORMAT([source].[day], 'yyyy-MM') AS [key_1],
    FORMAT([source].[moment], 'yyyy-MM-dd HH:mm:ss.FFFFFF') AS [key_2],
    1 AS [rows_a],
    NULL AS [rows_b],
    [source].[amount] AS [a_0],
    NULL AS [b_0],
    [source].[amount] AS [a_1],
    NULL AS [b_1],
    [source].[company] AS [a_2],
    NULL AS [b_2]
  FROM [dbo].[old] AS [source]
  WHERE
    (
      REPLACE(
        UPPER(
          TRIM(' ' FROM (
            CAST([source].[company] AS NVARCHAR(4000)) COLLATE Latin1_General_100_BIN2
          ))
        ),
        'ẞ',
        'ß'
      ) IN ((
          CAST(? AS NVARCHAR(4000)) COLLATE Latin1_General_100_BIN2
      ))
      OR REPLACE(
        UPPER(
          TRIM(' ' FROM (
            CAST([source].[company] AS NVARCHAR(4000)) COLLATE Latin1_General_100_BIN2
          ))
        ),
        'ẞ',
        'ß'
      ) IS NULL
    )
    AND FORMAT([source].[moment], 'yyyy-MM-dd HH:mm:ss.FFFFFF') >= (
      CAST(? AS NVARCHAR(4000)) COLLATE Latin1_General_100_BIN2
    )
  UNION ALL
  SELECT
    REPLACE(
      UPPER(
        TRIM(' ' FROM (
          CAST([source].[company] AS NVARCHAR(4000)) COLLATE Latin1_General_100_BIN2
        ))
      ),
      'ẞ',
      'ß'
    ) AS [key_0],
    FORMAT([source].[day], 'yyyy-MM') AS [key_1],
    FORMAT([source].[moment], 'yyyy-MM-dd HH:mm:ss.FFFFFF') AS [key_2],
    NULL AS [rows_a],
    1 AS [rows_b],
    NULL AS [a_0],
    [source].[amount] AS [b_0],
    NULL AS [a_1],
    [source].[amount] AS [b_1],
    NULL AS [a_2],
    [source].[company] AS [b_2]
  FROM [dbo].[new] AS [source]
  WHERE
    (
      REPLACE(
        UPPER(
          TRIM(' ' FROM (
            CAST([source].[company] AS NVARCHAR(4000)) COLLATE Latin1_General_100_BIN2
          ))
        ),
        'ẞ',
        'ß'
      ) IN ((
          CAST(? AS NVARCHAR(4000)) COLLATE Latin1_General_100_BIN2
      ))
      OR REPLACE(
        UPPER(
          TRIM(' ' FROM (
            CAST([source].[company] AS NVARCHAR(4000)) COLLATE Latin1_General_100_BIN2
          ))
        ),
        'ẞ',
        'ß'
      ) IS NULL
    )
    AND FORMAT([source].[moment], 'yyyy-MM-dd HH:mm:ss.FFFFFF') >= (
      CAST(? AS NVARCHAR(4000)) COLLATE Latin1_General_100_BIN2
    )
), [groups] AS (
  SELECT
    [key_0],
    [key_1],
    [key_2],
    COUNT([rows_a]) AS [rows_a],
    COUNT([rows_b]) AS [rows_b],
    CAST(SUM([a_0]) AS NUMERIC(38, 2)) AS [a_0],
    CAST(SUM([b_0]) AS NUMERIC(38, 2)) AS [b_0],
    CAST(CAST(SIGN(
      CAST(CAST(SUM([a_1]) AS NUMERIC(38, 2)) * CAST(100000000 AS NUMERIC(9, 0)) AS NUMERIC(38, 0))
    ) * (
      CAST((
        (
          2 * ABS(
            CAST(CAST(SUM([a_1]) AS NUMERIC(38, 2)) * CAST(100000000 AS NUMERIC(9, 0)) AS NUMERIC(38, 0))
          ) + NULLIF(COUNT([a_1]), 0)
        ) - (
          2 * ABS(
            CAST(CAST(SUM([a_1]) AS NUMERIC(38, 2)) * CAST(100000000 AS NUMERIC(9, 0)) AS NUMERIC(38, 0))
          ) + NULLIF(COUNT([a_1]), 0)
        ) % (
          2 * NULLIF(COUNT([a_1]), 0)
        )
      ) / (
        2 * NULLIF(COUNT([a_1]), 0)
      ) AS NUMERIC(38, 0))
    ) AS NUMERIC(38, 0)) * CAST('1e-8' AS NUMERIC(9, 8)) AS NUMERIC(38, 8)) AS [a_1],
    CAST(CAST(SIGN(
      CAST(CAST(SUM([b_1]) AS NUMERIC(38, 2)) * CAST(100000000 AS NUMERIC(9, 0)) AS NUMERIC(38, 0))
    ) * (
      CAST((
        (
          2 * ABS(
            CAST(CAST(SUM([b_1]) AS NUMERIC(38, 2)) * CAST(100000000 AS NUMERIC(9, 0)) AS NUMERIC(38, 0))
          ) + NULLIF(COUNT([b_1]), 0)
        ) - (
          2 * ABS(
            CAST(CAST(SUM([b_1]) AS NUMERIC(38, 2)) * CAST(100000000 AS NUMERIC(9, 0)) AS NUMERIC(38, 0))
          ) + NULLIF(COUNT([b_1]), 0)
        ) % (
          2 * NULLIF(COUNT([b_1]), 0)
        )
      ) / (
        2 * NULLIF(COUNT([b_1]), 0)
      ) AS NUMERIC(38, 0))
    ) AS NUMERIC(38, 0)) * CAST('1e-8' AS NUMERIC(9, 8)) AS NUMERIC(38, 8)) AS [b_1],
    CAST(CASE WHEN COUNT([rows_a]) > 0 THEN CAST(COUNT([a_2]) AS NUMERIC(38, 0)) END AS NUMERIC(38, 0)) AS [a_2],
    CAST(CASE WHEN COUNT([rows_b]) > 0 THEN CAST(COUNT([b_2]) AS NUMERIC(38, 0)) END AS NUMERIC(38, 0)) AS [b_2]
  FROM [both]
  GROUP BY
    [key_0],
    [key_1],
    [key_2]
)
SELECT
  [same],
  CASE WHEN [same] = 0 THEN [key_0] END AS [key_0],
  CASE WHEN [same] = 0 THEN [key_1] END AS [key_1],
  CASE WHEN [same] = 0 THEN [key_2] END AS [key_2],
  COUNT(*) AS [together],
  COUNT(CASE WHEN [rows_a] > 1 THEN 1 END) AS [repeated],
  CAST(SUM([rows_a]) AS BIGINT) AS [rows_a],
  CAST(SUM([rows_b]) AS BIGINT) AS [rows_b],
  CAST(SUM([a_0]) AS NUMERIC(38, 2)) AS [a_0],
  CAST(SUM([b_0]) AS NUMERIC(38, 2)) AS [b_0],
  CAST(SUM([a_1]) AS NUMERIC(38, 8)) AS [a_1],
  CAST(SUM([b_1]) AS NUMERIC(38, 8)) AS [b_1],
  CAST(SUM([a_2]) AS NUMERIC(38, 0)) AS [a_2],
  CAST(SUM([b_2]) AS NUMERIC(38, 0)) AS [b_2]
FROM (
  SELECT
    *,
    CASE
      WHEN [rows_a] IS NOT DISTINCT FROM [rows_b]
      AND [a_0] IS NOT DISTINCT FROM [b_0]
      AND [a_1] IS NOT DISTINCT FROM [b_1]
      AND [a_2] IS NOT DISTINCT FROM [b_2]
      THEN 1
      ELSE 0
    END AS [same]
  FROM [groups]
) AS [marked]
GROUP BY
  [same],
  CASE WHEN [same] = 0 THEN [key_0] END,
  CASE WHEN [same] = 0 THEN [key_1] END,
  CASE WHEN [same] = 0 THEN [key_2] END;
