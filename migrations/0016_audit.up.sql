-- Who has changed what, and when. A request is noted before it is carried out; without a status its end is not known.
CREATE TABLE audit_events (
    id         uuid        PRIMARY KEY, -- that of the request, as logs have it
    created_at timestamptz NOT NULL DEFAULT now(),
    project_id text        NOT NULL,
    user_id    text        NOT NULL,
    user_name  text        NOT NULL,
    address    text        NOT NULL, -- of the client
    method     text        NOT NULL,
    path       text        NOT NULL,
    status     integer,
    ended_at   timestamptz
);
CREATE INDEX audit_events_order ON audit_events (created_at, id);
CREATE INDEX audit_events_project ON audit_events (project_id, created_at, id);
