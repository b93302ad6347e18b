SELECT
  [key_0],
  [key_1],
  [key_2],
  COUNT(*) AS [row_count],
  CAST(SUM([value_0]) AS NUMERIC(38, 2)) AS [total_0],
  CAST(CAST(SIGN(
    (
      CAST(CAST(SUM([value_1]) AS NUMERIC(38, 2)) * CAST(100000000 AS NUMERIC(9, 0)) AS NUMERIC(38, 0))
    )
  ) * (
    (
      CAST((
        (
          2 * ABS(
            (
              CAST(CAST(SUM([value_1]) AS NUMERIC(38, 2)) * CAST(100000000 AS NUMERIC(9, 0)) AS NUMERIC(38, 0))
            )
          ) + NULLIF(COUNT([value_1]), 0)
        ) - (
          2 * ABS(
            (
              CAST(CAST(SUM([value_1]) AS NUMERIC(38, 2)) * CAST(100000000 AS NUMERIC(9, 0)) AS NUMERIC(38, 0))
            )
          ) + NULLIF(COUNT([value_1]), 0)
        ) % (
          2 * NULLIF(COUNT([value_1]), 0)
        )
      ) / (
        2 * NULLIF(COUNT([value_1]), 0)
      ) AS NUMERIC(38, 0))
    )
  ) AS NUMERIC(38, 0)) * CAST('1e-8' AS NUMERIC(9, 8)) AS NUMERIC(38, 8)) AS [total_1],
  CAST(COUNT([value_2]) AS NUMERIC(38, 0)) AS [total_2]
FROM (
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
    (
      FORMAT([source].[moment], 'yyyy-MM-dd HH:mm:ss.FFFFFF')
    ) AS [key_2],
    [source].[amount] AS [value_0],
    [source].[amount] AS [value_1],
    [source].[company] AS [value_2]
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
    AND (
      FORMAT([source].[moment], 'yyyy-MM-dd HH:mm:ss.FFFFFF')
    ) >= (
      CAST(? AS NVARCHAR(4000)) COLLATE Latin1_General_100_BIN2
    )
) AS [rows]
GROUP BY
  [key_0],
  [key_1],
  [key_2];

SELECT
  [key_0],
  [key_1],
  [key_2],
  COUNT(*) AS [row_count],
  CAST(SUM([value_0]) AS NUMERIC(38, 2)) AS [total_0],
  CAST(CAST(SIGN(
    (
      CAST(CAST(SUM([value_1]) AS NUMERIC(38, 2)) * CAST(100000000 AS NUMERIC(9, 0)) AS NUMERIC(38, 0))
    )
  ) * (
    (
      CAST((
        (
          2 * ABS(
            (
              CAST(CAST(SUM([value_1]) AS NUMERIC(38, 2)) * CAST(100000000 AS NUMERIC(9, 0)) AS NUMERIC(38, 0))
            )
          ) + NULLIF(COUNT([value_1]), 0)
        ) - (
          2 * ABS(
            (
              CAST(CAST(SUM([value_1]) AS NUMERIC(38, 2)) * CAST(100000000 AS NUMERIC(9, 0)) AS NUMERIC(38, 0))
            )
          ) + NULLIF(COUNT([value_1]), 0)
        ) % (
          2 * NULLIF(COUNT([value_1]), 0)
        )
      ) / (
        2 * NULLIF(COUNT([value_1]), 0)
      ) AS NUMERIC(38, 0))
    )
  ) AS NUMERIC(38, 0)) * CAST('1e-8' AS NUMERIC(9, 8)) AS NUMERIC(38, 8)) AS [total_1],
  CAST(COUNT([value_2]) AS NUMERIC(38, 0)) AS [total_2]
FROM (
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
    (
      FORMAT([source].[moment], 'yyyy-MM-dd HH:mm:ss.FFFFFF')
    ) AS [key_2],
    [source].[amount] AS [value_0],
    [source].[amount] AS [value_1],
    [source].[company] AS [value_2]
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
    AND (
      FORMAT([source].[moment], 'yyyy-MM-dd HH:mm:ss.FFFFFF')
    ) >= (
      CAST(? AS NVARCHAR(4000)) COLLATE Latin1_General_100_BIN2
    )
) AS [rows]
GROUP BY
  [key_0],
  [key_1],
  [key_2];
