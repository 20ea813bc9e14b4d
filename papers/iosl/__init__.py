"""Arunachalam et al., the ID-oriented socket layer: what they claim, judged."""
