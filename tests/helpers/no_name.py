"""Words that are no setting: hypothesis draws others from the sources that are loaded, "relu" for example."""

from hypothesis import strategies as st

NO_NAME = st.text("xyzXYZ é-", max_size=5)
