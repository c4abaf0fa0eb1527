-- The contents of which files on two hosts have the same inode number and times: they can be one
-- file that both hosts see.
SELECT DISTINCT sha256
FROM (SELECT sha256
      FROM replicated_files
      GROUP BY sha256, ino, mtime_ns, ctime_ns
      HAVING MIN(host) < MAX(host)) s
