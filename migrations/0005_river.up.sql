-- The job queue keeps its own tables in a schema of its own, and migrates them itself.
CREATE SCHEMA river;
