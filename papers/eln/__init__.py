"""Islam and Uddin, explicit loss and handoff notification: what they claim, judged."""
