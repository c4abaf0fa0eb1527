-- All names of files of some bytes, with the folder of each.
SELECT host, source, folder, id, content, size
FROM inodes
UNION ALL
SELECT l.host, l.source, l.folder, l.id, i.content, i.size
FROM links l
JOIN inodes i ON i.host = l.host AND i.id = l.id
