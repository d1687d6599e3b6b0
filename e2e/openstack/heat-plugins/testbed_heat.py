"""Makes signals to scaling policies work.

Debian 12's oslo.messaging strips credentials from the context of a notification, and
Heat 19 needs them to send one: each signal to a scaling policy ends in "Authorization
failed" before anything is scaled.  Nobody listens to notifications here, so none is sent.
"""
from heat.engine import notification


def notify(context, event_type, level, body):
    pass


notification.notify = notify


def resource_mapping():
    return {}
