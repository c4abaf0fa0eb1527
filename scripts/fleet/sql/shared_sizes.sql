-- Sizes that occur on more than one host. All other files need not be read.
SELECT size
FROM files
WHERE size > 0
GROUP BY size
HAVING MIN(host) < MAX(host)
