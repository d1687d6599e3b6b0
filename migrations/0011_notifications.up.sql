-- Subscriptions to notifications, and the notifications that are on their way.
CREATE TABLE subscriptions (
    id             uuid        PRIMARY KEY,
    created_at     timestamptz NOT NULL DEFAULT now(),
    interface      text        NOT NULL, -- vnflcm or vnfpkgm
    callback_uri   text        NOT NULL,
    filter         jsonb       NOT NULL,
    authentication bytea, -- sealed
    sender         uuid, -- the process that delivers to it, until sender_until
    sender_until   timestamptz NOT NULL DEFAULT now(),
    failures       integer     NOT NULL DEFAULT 0, -- in a row
    due            timestamptz NOT NULL DEFAULT now() -- no delivery is tried before
);
CREATE UNIQUE INDEX subscriptions_duplicate ON subscriptions (interface, md5(callback_uri), md5(filter::text));
CREATE INDEX subscriptions_order ON subscriptions (interface, created_at, id);

CREATE TABLE notifications (
    seq        bigint      PRIMARY KEY GENERATED ALWAYS AS IDENTITY, -- for one subject the order in which things happened
    created_at timestamptz NOT NULL DEFAULT now(),
    subject    uuid        NOT NULL, -- a VNF instance or a VNF package
    body       jsonb       NOT NULL
);
CREATE INDEX notifications_age ON notifications (created_at);

-- No foreign keys: an operation does not wait for a subscription that is being deleted. What is left over is swept.
CREATE TABLE deliveries (
    subscription_id uuid    NOT NULL,
    seq             bigint  NOT NULL,
    rejected        integer NOT NULL DEFAULT 0, -- times that the consumer has refused it
    PRIMARY KEY (subscription_id, seq)
);
CREATE INDEX deliveries_seq ON deliveries (seq);
