DROP TABLE deliveries;
DROP TABLE notifications;
DROP TABLE subscriptions;
