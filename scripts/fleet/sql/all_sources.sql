-- The sources of all hosts.
SELECT host, source, path, path_base64
FROM sources
ORDER BY host, source
